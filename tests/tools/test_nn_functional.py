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


def test_other_names_and_fixed_arguments(tmp_path):
    functional = (
        '{signature = "weight, tensor", names = {self = "tensor"}, fixed = {speed = "2"}, '
        'doc = "A tide.", check = "salt(tensor)"}'
    )
    assert """
def wave(weight, tensor):
    \"\"\"A tide.\"\"\"
    if has_torch_function_variadic(weight, tensor):
        return _handle_call(wave, (weight, tensor), locals())
    _checks.salt(tensor)
    return _nn.wave(tensor, weight, 2)
""" in code(tmp_path, functional)


LOSS = """
[storm]
schema = "storm(Tensor self, int reduction=Mean) -> Tensor"
kind = "composite"
variants = ["function"]
python = {functional = %s}
doc = "A storm."
"""


def test_reductions_become_numbers(tmp_path):
    (tmp_path / "sea").mkdir()
    signature = "{signature = \"input, size_average=None, reduce=None, reduction='mean'\"}"
    (tmp_path / "sea/records.toml").write_text(LOSS % signature)
    text = nn_functional.code(record_files.load(tmp_path))
    assert "    reduction = reduction_number(reduction, size_average, reduce)\n" in text
    assert "    return _C.storm(input, reduction)\n" in text


def test_an_in_place_form_that_is_a_record_of_its_own(tmp_path):
    (tmp_path / "sea").mkdir()
    signature = '{signature = "input, inplace=False", inplace = true}'
    (tmp_path / "sea/records.toml").write_text(LOSS % signature)
    text = nn_functional.code(record_files.load(tmp_path))
    assert "return _C.storm_(input) if inplace else _C.storm(input)" in text
    assert "__all__ = ['storm']" in text
