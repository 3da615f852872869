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
        ('{signature = "input", instead = {tide = "input"}}', r"'tide' is no record"),
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
    number = "_checks.reduction_number(reduction, size_average, reduce)"
    assert f"    return _C.storm(input, {number})\n" in text


def test_an_in_place_form_that_is_a_record_of_its_own(tmp_path):
    (tmp_path / "sea").mkdir()
    signature = '{signature = "input, inplace=False", inplace = true}'
    (tmp_path / "sea/records.toml").write_text(LOSS % signature)
    text = nn_functional.code(record_files.load(tmp_path))
    assert "return _C.storm_(input) if inplace else _C.storm(input)" in text
    assert "__all__ = ['storm']" in text


def test_a_missing_argument_is_filled_in_and_others_are_converted(tmp_path):
    functional = (
        '{signature = "input, speed=None, level=3, is_long=None", '
        'missing = {speed = "usual_speed(\'wave\', level)"}, convert = {is_long = "truth(is_long)"}}'
    )
    assert """
def wave(input, speed=None, level=3, is_long=None):
    \"\"\"A wave.\"\"\"
    if has_torch_function_unary(input):
        return _handle_call(wave, (input,), locals())
    if speed is None:
        speed = _checks.usual_speed('wave', level)
    return _nn.wave(input, speed=speed, is_long=_checks.truth(is_long))
""" in code(tmp_path, functional)


def test_another_record_under_a_condition(tmp_path):
    (tmp_path / "sea").mkdir()
    functional = (
        '{signature = "input, wind=None, reduction=\'mean\'", check = ["salt(input)", "depth(input)"], '
        'instead = {_windy_storm = "wind is not None"}}'
    )
    windy = """
[_windy_storm]
schema = "_windy_storm(Tensor self, Tensor wind, int reduction=Mean) -> Tensor"
kind = "composite"
variants = ["function"]
python = {module = "nn"}
doc = "A storm with wind."
"""
    (tmp_path / "sea/records.toml").write_text(LOSS % functional + windy)
    assert """
def storm(input, wind=None, reduction='mean'):
    \"\"\"A storm.\"\"\"
    if has_torch_function_variadic(input, wind):
        return _handle_call(storm, (input, wind), locals())
    _checks.salt(input)
    _checks.depth(input)
    if wind is not None:
        return _nn._windy_storm(input, wind, _checks.reduction_number(reduction))
    return _C.storm(input, _checks.reduction_number(reduction))
""" in nn_functional.code(record_files.load(tmp_path))


def test_a_call_of_the_method_asks_no_override(tmp_path):
    assert """
def wave(input, speed=1):
    \"\"\"A wave.\"\"\"
    return input.wave(speed=speed)
""" in code(tmp_path, '{signature = "input, speed=1", method = true}')
