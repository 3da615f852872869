"""C++ extensions: typed handles of operators, and autocast's promotion on a device."""

from pathlib import Path

import pytest
from taeda.utils import cpp_extension

import taeda as t

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def typed():
    source = Path(__file__).with_name("extensions") / "typed_calls.cpp"
    return cpp_extension.load("taeda_test_typed", [str(source)])


def test_a_handle_of_the_right_signature_calls(typed):
    assert typed.right(t.ones(1)).item() == 2.0
    assert typed.by_function_type(t.ones(1)).item() == 3.0


@pytest.mark.parametrize(
    ("name", "difference"),
    [
        ("one_too_many", r"the number of arguments is different\. 2 vs 3"),
        ("one_missing", r"the number of arguments is different\. 2 vs 1"),
        ("wrong_type", "type mismatch in arguments 2: float vs int"),
        ("wrong_result", r"the number of returns is different\. 1 vs 2"),
        ("no_result", r"the number of returns is different\. 1 vs 0"),
    ],
)
def test_a_handle_of_another_signature_is_refused(typed, name, difference):
    with pytest.raises(RuntimeError, match="call an operator with a wrong signature") as error:
        getattr(typed, name)()
    assert error.match(r"operator: test_typed::scaled\(Tensor x, float by\) -> Tensor")
    assert error.match(difference)


def test_promotion_names_its_device(typed):
    half, single = t.ones(1, dtype=t.bfloat16), t.ones(1)
    with t.autocast("cpu", dtype=t.bfloat16):
        assert typed.promoted(half, half) == t.bfloat16
        assert typed.promoted(half, single) == t.float32
