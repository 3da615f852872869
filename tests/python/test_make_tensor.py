"""testing.make_tensor: bounds, dtypes and layouts of random tensors."""

import pytest
from under_test import t

make_tensor = t.testing.make_tensor
DTYPES = [
    *("uint8", "int8", "int16", "int32", "int64", "bool", "uint16", "uint32"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    *("float8_e4m3fn", "float8_e5m2"),
]


@pytest.mark.parametrize("name", DTYPES)
def test_numbers_are_inside_their_bounds(name):
    dtype = getattr(t, name)
    made = make_tensor((40, 25), dtype=dtype, device="cpu")
    assert made.dtype == dtype and made.shape == (40, 25)
    wide = made.to(t.complex128 if dtype.is_complex else t.float64)
    parts = t.view_as_real(wide) if dtype.is_complex else wide
    assert parts.min() >= -9 and parts.max() <= 9
    assert len(parts.unique()) > 1
    if dtype != t.bool:
        small = make_tensor(50, dtype=dtype, device="cpu", low=2, high=4)
        real = (t.view_as_real(small) if dtype.is_complex else small).to(t.float64)
        assert real.min() >= 2 and real.max() <= 4


def test_layouts():
    made = make_tensor(2, 3, 4, dtype=t.float32, device="cpu", noncontiguous=True)
    assert not made.is_contiguous() and made.shape == (2, 3, 4)
    assert make_tensor((1,), dtype=t.float32, device="cpu", noncontiguous=True).is_contiguous()
    made = make_tensor(2, 3, 4, 5, dtype=t.float32, device="cpu", memory_format=t.channels_last)
    assert made.is_contiguous(memory_format=t.channels_last)
    assert make_tensor((), dtype=t.int64, device="cpu").shape == ()
    assert make_tensor((3,), dtype=t.float64, device="cpu", requires_grad=True).requires_grad


def test_zeros_are_left_out():
    made = make_tensor(1000, dtype=t.int8, device="cpu", low=-1, high=2, exclude_zero=True)
    assert (made != 0).all()


def test_refusals():
    options = {"device": "cpu", "dtype": t.float32}
    with pytest.raises(ValueError, match="`low` must be less than `high`"):
        make_tensor(2, low=3, high=1, **options)
    with pytest.raises(ValueError, match="cannot be NaN"):
        make_tensor(2, low=float("nan"), **options)
    with pytest.raises(ValueError, match="mutually exclusive"):
        make_tensor(2, 2, 2, 2, noncontiguous=True, memory_format=t.channels_last, **options)
    with pytest.raises(ValueError, match="not supported for boolean and integral"):
        make_tensor(2, dtype=t.int64, device="cpu", requires_grad=True)
    with pytest.raises(ValueError, match="only supports"):
        make_tensor(2, dtype=t.uint8, device="cpu", low=-9, high=-3)
    with pytest.warns(FutureWarning, match="low==high"):
        assert make_tensor(2, low=1, high=1, **options).tolist() == [1.0, 1.0]


def test_the_least_integer_is_a_bound():
    limits = t.iinfo(t.int64)
    x = t.testing.make_tensor(1000, dtype=t.int64, device="cpu", low=limits.min, high=limits.max)
    assert x.min() < -(2**62) and x.max() > 2**62
