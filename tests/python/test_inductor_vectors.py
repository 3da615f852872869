"""Halves, which kernels take a vector at a time."""

import numpy as np
import pytest
from taeda._inductor import compile
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda as t

NATIVE = ["never", "only"]


def same_bits(got, want):
    bits = f"u{want.itemsize}"
    return ((got.view(bits) == want.view(bits)) | (np.isnan(got) & np.isnan(want))).all()


@pytest.mark.parametrize("native", NATIVE)
def test_every_half_becomes_a_float(native):
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    x = t.from_numpy(halves)
    compiled = compile(make_fx(lambda x: x.float() * 1)(x), [x], native=native)
    assert same_bits(compiled(x).numpy(), halves.astype(np.float32))
    compiled = compile(make_fx(lambda x: x * 3 - 1)(x), [x], native=native)
    assert same_bits(compiled(x).numpy(), (x * 3 - 1).numpy())


@pytest.mark.parametrize("native", NATIVE)
@pytest.mark.parametrize("kind", ["any", "subnormal", "overflowing"])
def test_floats_are_rounded_to_halves(kind, native):
    count = (1 << 16) + 5
    if kind == "any":
        generator = np.random.default_rng(0)
        floats = generator.integers(0, 1 << 32, count, dtype=np.uint32).view(np.float32)
    else:
        limit = 7e-5 if kind == "subnormal" else 7e4
        floats = np.linspace(-limit, limit, count).astype(np.float32)
    x = t.from_numpy(floats)
    compiled = compile(make_fx(lambda x: (x * 1).half())(x), [x], native=native)
    with np.errstate(over="ignore"):
        want = floats.astype(np.float16)
    assert same_bits(compiled(x).numpy(), want)
