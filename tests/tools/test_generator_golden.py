"""What the generator writes for one record of each kind, compared with the text kept beside this file.

`python tests/tools/test_generator_golden.py` writes the kept texts anew; read their difference.
"""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools/gen"))

import main as generator  # noqa: E402
import records as record_files  # noqa: E402

KEPT = HERE / "generator"
KINDS = ("pointwise", "structured", "view", "explicit", "composite", "kernel")


def generated(kind):
    """Every file of a family that holds one record of this kind, as one text."""
    records = [r for r in record_files.load(KEPT) if r.kind == kind]
    writer = generator.Writer(".")
    generator.family_files(writer, "scratch", records)
    return "".join(f"==== {path} ====\n{text}\n" for path, text in sorted(writer.files.items()))


@pytest.mark.parametrize("kind", KINDS)
def test_output_is_as_kept(kind):
    assert generated(kind) == (KEPT / f"{kind}.txt").read_text()


def test_every_kind_is_kept():
    assert {r.kind for r in record_files.load(KEPT)} == set(KINDS) == set(record_files.KINDS)


def test_a_build_watches_all_that_the_generator_reads():
    root = HERE.parents[1]
    watched = (root / "build/gen/inputs.d").read_text().split()
    folder = Path(generator.__file__).parent
    read = [*folder.glob("*.py*"), *(root / "taeda/ops").glob("*/records.toml")]
    assert {str(p) for p in read if p.is_file()} <= set(watched)


if __name__ == "__main__":
    for kind in KINDS:
        (KEPT / f"{kind}.txt").write_text(generated(kind))
