"""Tests that tensors print as PyTorch prints them, against texts recorded in golden/repr.json."""

import json
import math
import pathlib

import pytest
from under_test import t

RECORDS = json.loads((pathlib.Path(__file__).parent / "golden" / "repr.json").read_text())
NAMES = {"t": t, "nan": math.nan, "inf": math.inf}


@pytest.fixture(autouse=True)
def default_printing():
    t.set_printoptions(profile="default")
    yield
    t.set_printoptions(profile="default")
    t.set_default_dtype(t.float32)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("record", RECORDS, ids=range(len(RECORDS)))
def test_text_is_pytorchs(record):
    t.set_default_dtype(getattr(t, record["default_dtype"]))
    t.set_printoptions(**record["options"])
    assert repr(eval(record["source"], dict(NAMES))) == record["text"]


def test_str_equals_repr():
    x = t.arange(6).reshape(2, 3)
    assert str(x) == repr(x) == "tensor([[0, 1, 2],\n        [3, 4, 5]])"


def test_zero_dim_formats_as_its_number():
    assert f"{t.tensor(2.5):.3f}" == "2.500"
    assert f"{t.tensor(7):>4d}" == "   7"
    assert f"{t.tensor(True)}" == "True"


def test_other_tensors_format_as_repr():
    x = t.tensor([1.0, 2.0])
    assert f"{x}" == repr(x)
    with pytest.raises(TypeError):
        f"{x:.3f}"


def test_options_last_until_changed():
    t.set_printoptions(precision=1)
    t.set_printoptions(linewidth=100)
    assert repr(t.tensor([0.25, 0.5])) == "tensor([0.2, 0.5])"
    t.set_printoptions(profile="default")
    assert repr(t.tensor([0.25, 0.5])) == "tensor([0.2500, 0.5000])"


def test_sci_mode_is_reset_by_a_call_that_omits_it():
    t.set_printoptions(sci_mode=True)
    assert repr(t.tensor([0.5])) == "tensor([5.0000e-01])"
    t.set_printoptions(precision=2)
    assert repr(t.tensor([0.5])) == "tensor([0.50])"


def test_printing_records_no_history_and_changes_nothing():
    x = t.ones(3, requires_grad=True)
    version = x._version
    repr(x * 1)
    repr(x)
    assert x.grad_fn is None and x._version == version


def test_subclass_prints_its_name():
    class Length(t.Tensor):
        pass

    x = t.tensor([1.0, 2.0]).as_subclass(Length)
    assert repr(x) == "Length([1., 2.])"
