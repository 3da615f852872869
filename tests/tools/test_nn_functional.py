"""What the generator writes for functions of taeda.nn.functional."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/gen"))

import nn_functional  # noqa: E402
import records as record_files  # noqa: E402

RECORD = """
[wave]
schema = "wave(Tensor self, Tensor? weight=None, Scalar speed=1, *, bool is_long=False) -> Tensor"
kind = "composite"
variants = ["function", "inplace"]
python = {module = "nn", functional = %s}
doc = "A wave."
"""


def code(tmp_path, functional):
    (tmp_path / "sea").mkdir()
    (tmp_path / "sea/records.toml").write_text(RECORD % functional)
    return nn_functional.code(record_files.load(tmp_path))


def test_a_signature_makes_a_function(tmp_path):
    text = code(tmp_path, '{signature = "input, weight=None, is_long=True, inplace=False"}')
    assert (
        """
def wave(input, weight=None, is_long=True, inplace=False):
    \"\"\"A wave.\"\"\"
    if has_torch_function_variadic(input, weight):
        return _handle_call(wave, (input, weight), locals())
    return _nn.wave_(input, weight, is_long=is_long) if inplace else _nn.wave(input, weight, is_long=is_long)
"""
        in text
    )
    assert "__all__ = ['wave']" in text


def test_without_a_signature_the_operator_is_the_function(tmp_path):
    assert "swell = _nn.wave\n" in code(tmp_path, '{name = "swell"}')


@pytest.mark.parametrize(
    "functional, phrase",
    [
        ('{signature = "input, wind=1"}', r"\['wind'\] are no arguments"),
        ('{signatur = "input"}', r"unknown fields \['signatur'\]"),
    ],
)
def test_mistakes_name_the_record(tmp_path, functional, phrase):
    with pytest.raises(SystemExit, match=rf"sea/records.toml: \[wave\]: .*{phrase}"):
        code(tmp_path, functional)


def test_the_package_and_its_generated_part_share_no_file():
    assert not (ROOT / nn_functional.PATH).exists()
