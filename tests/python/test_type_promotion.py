"""Tests the dtypes of results against PyTorch's, recorded in golden/promotion.json."""

import json
import pathlib
import warnings

import pytest
from under_test import t

TABLES = json.loads((pathlib.Path(__file__).parent / "golden" / "promotion.json").read_text())


def cell(expression):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = eval(expression, {"t": t})
    except Exception as error:
        return type(error).__name__
    if isinstance(result, bool):
        return result
    dtype = result.dtype if isinstance(result, t.Tensor) else result
    return str(dtype).removeprefix("torch.")


@pytest.mark.parametrize("name", TABLES)
def test_result_dtypes(name):
    table = TABLES[name]
    differences = []
    for row, expected_cells in zip(table["rows"], table["cells"], strict=True):
        for column, expected in zip(table["columns"], expected_cells, strict=True):
            expression = table["expression"].format(row, column)
            if expected == "complex32" or (
                "float16" in expression and ("complex" in expression or "1j" in expression)
            ):
                continue  # complex32 is no dtype of Taeda: half with complex gives complex64
            result = cell(expression)
            if result != expected:
                differences.append(f"{expression}: got {result}, expected {expected}")
    assert differences == []


def test_default_dtype_takes_part():
    t.set_default_dtype(t.float64)
    try:
        assert (t.ones(2, dtype=t.int64) * 1.5).dtype == t.float64
        assert (t.ones(2, dtype=t.int64) / 2).dtype == t.float64
        assert t.ones(2, dtype=t.int64).exp().dtype == t.float64
        assert (t.ones(2, dtype=t.float32) * 1.5).dtype == t.float32
        assert (t.ones(2, dtype=t.float32) * 1j).dtype == t.complex64
        assert (t.ones(2, dtype=t.int64) * 1j).dtype == t.complex128
    finally:
        t.set_default_dtype(t.float32)


def test_dtype_argument_wins():
    x = t.ones(3, dtype=t.int8)
    assert t.sum(x, dtype=t.float64).dtype == t.float64
    assert t.cumsum(x, 0, dtype=t.int16).dtype == t.int16
    assert t.softmax(x, 0, dtype=t.float32).dtype == t.float32
    assert t.mean(x, dtype=t.float32).item() == 1


def test_values_follow_the_promoted_type():
    small = t.full((1,), 100, dtype=t.int8)
    assert (small + small).item() == -56
    assert (small + t.full((1,), 100, dtype=t.int16)).item() == 200
    assert (t.full((1,), 200, dtype=t.uint8) + small).item() == 300
    assert (t.tensor([2**24 + 1]) + t.tensor([0.0])).item() == 2.0**24
    assert (t.tensor([1.0], dtype=t.float16) + 1e-4).item() == 1.0


@pytest.mark.parametrize("dtype", [t.float16, t.bfloat16])
@pytest.mark.parametrize("number", [0.1, -0.7, 3.3, 2049])
class TestNumbersBesideHalves:
    """They are rounded to the half first, but products and quotients take them as they are."""

    def values(self, dtype):
        return (t.arange(1, 60) * 0.37 - 9).to(dtype)

    def test_a_half_equals_the_number_it_was_made_of(self, dtype, number):
        x = t.tensor([number], dtype=dtype)
        assert (x == number).item() and (x >= number).item() and not (x < number).item()
        assert t.tensor(number, dtype=dtype) == number

    @pytest.mark.parametrize("name", ["add", "sub", "remainder", "fmod", "maximum", "lt", "pow"])
    def test_rounded(self, dtype, number, name):
        x, rounded = self.values(dtype), t.tensor(number, dtype=dtype)
        if name == "pow":
            x = x.abs()
        call = getattr(t, name)
        given = t.tensor(number) if name == "maximum" else number
        assert t.equal(call(x, given), call(x, rounded))

    @pytest.mark.parametrize("name", ["mul", "div"])
    def test_as_it_is(self, dtype, number, name):
        x, call = self.values(dtype), getattr(t, name)
        assert t.equal(call(x, number), call(x.to(t.float32), number).to(dtype))


@pytest.mark.parametrize("dtype", [t.float32, t.float64, t.complex64, t.complex128])
@pytest.mark.parametrize("weight", [t.float32, t.float64])
def test_the_weight_of_lerp_may_be_a_scalar_of_another_dtype(dtype, weight):
    """As a number among tensors; weights with dimensions must have the dtype."""
    start, end = t.tensor([1.0, 2.0], dtype=dtype), t.tensor([3.0, 4.0], dtype=dtype)
    found = t.lerp(start, end, t.tensor(0.5, dtype=weight))
    assert found.dtype == dtype and found.tolist() == [2, 3]
    other = t.float64 if dtype == t.float32 else t.float32
    with pytest.raises(RuntimeError, match="for `weight` but got dtype"):
        t.lerp(start, end, t.ones(2, dtype=other))
