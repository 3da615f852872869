"""Dtypes that operators refuse on a device that compiles kernels: the CPU's kind of error, and a
message that names the device's kernel."""

import re

import lowered_calls
import pytest

import taeda

F = taeda.nn.functional
# The kernel's name is that of PyTorch: the CPU's, with the device in its place or behind it.
EXTREMES = {
    "amax": ("max_values", lambda x: x.amax(0)),
    "amin": ("min_values", lambda x: x.amin(0)),
    "max": ("max_all", lambda x: x.max()),
    "min": ("min_all", lambda x: x.min()),
}
SUMS = {
    "sum": ("sum", lambda x: x.sum()),
    "sum of an axis": ("sum", lambda x: x.sum(0)),
    "prod": ("prod", lambda x: x.prod()),
    "mean": ("mean", lambda x: x.mean(0)),
    "cumsum": ("cumsum", lambda x: x.cumsum(0)),
    "cumprod": ("cumprod", lambda x: x.cumprod(0)),
}
POINTWISE = {
    "maximum": ("maximum", lambda x: taeda.maximum(x, x)),
    "lt": ("lt", lambda x: x < x),
    "gelu": ("gelu", F.gelu),
    "bitwise_and": ("bitwise_and", lambda x: x & x),
}
RANDOM = {
    "normal_": ("normal_kernel", lambda x: x.normal_()),
    "geometric_": ("geometric", lambda x: x.geometric_(0.5)),
    "arange": ("arange", lambda x: taeda.arange(4, dtype=x.dtype, device=x.device)),
    "mse_loss": ("mse", lambda x: F.mse_loss(x, x)),
}
REFUSED = (
    [(name, dtype) for name in EXTREMES for dtype in ("float8_e4m3fn", "complex64", "complex128")]
    + [(name, "float8_e5m2") for name in SUMS]
    + [("lt", "complex64"), ("gelu", "int32"), ("maximum", "float8_e5m2"), ("gelu", "complex64")]
    + [("bitwise_and", "float16")]
    + [(name, "bool") for name in RANDOM]
)
CALLS = {**EXTREMES, **SUMS, **POINTWISE, **RANDOM}


@pytest.fixture(scope="module")
def device():
    return lowered_calls.load("interpreted")


@pytest.mark.parametrize("name,dtype", REFUSED)
def test_a_refused_dtype_is_the_cpus_error_with_the_devices_kernel(name, dtype, device):
    kernel, call = CALLS[name]
    x = taeda.tensor([1.0, 0.0, 1.0]).to(getattr(taeda, dtype))
    with pytest.raises(NotImplementedError) as expected:
        call(x)
    with pytest.raises(NotImplementedError) as found:
        call(x.to(device))
    ending = re.search(" not implemented for '.*'$", str(expected.value)).group()
    assert str(found.value) == f'"{kernel}_{device}"{ending}'


def test_chances_of_a_refused_dtype_name_the_device(device):
    x = taeda.zeros(3, dtype=taeda.complex64, device=device)
    with pytest.raises(NotImplementedError, match=f'"bernoulli_scalar_{device}_" not implemented'):
        x.bernoulli_(0.5)
    with pytest.raises(
        NotImplementedError, match=f'"bernoulli_tensor_{device}_p_" not implemented'
    ):
        taeda.zeros(3, device=device).bernoulli_(taeda.ones(3, dtype=taeda.int64, device=device))


def test_places_of_small_floats_are_found(device):
    x = taeda.tensor([0.0, 1.0, -0.0, float("nan")]).to(taeda.float8_e5m2)
    assert x.to(device).nonzero().tolist() == x.nonzero().tolist() == [[1], [3]]
