"""The operator x artefact matrix has no hole without a written reason, and the committed files are current."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "gen"))

import matrix  # noqa: E402
import records as record_files  # noqa: E402


def load():
    return record_files.load(ROOT / "taeda" / "ops")


def test_every_artefact_is_made_or_explained():
    records = load()
    print(matrix.markdown(records))
    assert matrix.holes(records) == []


def test_a_hole_is_noticed():
    record = next(r for r in load() if r.kind == "pointwise")
    record.data = {k: v for k, v in record.data.items() if k != "doc"}
    assert (record.key, "doc") in matrix.holes([record])


def test_an_operator_outside_the_core_set_comes_apart_or_says_why():
    record = next(r for r in load() if "no_decomposition" in r.data)
    assert (record.key, "decomposition") not in matrix.holes([record])
    del record.data["no_decomposition"]
    record.kind = "structured"
    assert (record.key, "decomposition") in matrix.holes([record])


def test_committed_files_are_current():
    run = subprocess.run(
        [sys.executable, ROOT / "tools/gen/main.py", "--check"], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (
            'schema = "x(Tensor self) -> Tensor"\nkind = "composite"\nfoo = 1',
            "unknown fields ['foo']",
        ),
        ('kind = "composite"', "a record needs a schema"),
        ('schema = "x(Tensr self) -> Tensor"\nkind = "composite"', "unknown type 'Tensr'"),
        ('schema = "x(Tensor self"\nkind = "composite"', "cannot read the schema"),
        ('schema = "x(Tensor self) -> Tensor"\nkind = "odd"', "kind must be one of"),
    ],
)
def test_a_wrong_record_is_refused_in_one_line(tmp_path, record, message):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad/records.toml").write_text(f"[x]\n{record}\n")
    main = [sys.executable, ROOT / "tools/gen/main.py"]
    run = subprocess.run(
        [*main, "--records", tmp_path, "--out", tmp_path / "out"], capture_output=True, text=True
    )
    assert run.returncode != 0
    assert run.stderr.startswith("bad/records.toml: [x]: ") and run.stderr.count("\n") == 1
    assert message in run.stderr
