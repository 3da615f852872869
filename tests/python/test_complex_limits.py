"""Complex functions at infinities, NaN and the ends of the range: C's annex G, as cmath has it."""

import cmath
import math

import pytest

import taeda as t

NUMBERS = [0.0, -0.0, 0.5, -2.0, 1e200, -1e200, math.inf, -math.inf, math.nan]
GRID = [complex(a, b) for a in NUMBERS for b in NUMBERS]
NAMES = ["asin", "acos", "atan", "asinh", "acosh", "atanh", "exp", "sinh", "cosh", "tanh", "sqrt"]


def outcome(name, z):
    if name in ("tanh", "acosh") and z.real == 0 and math.isnan(z.imag):
        return None  # C23 says more than Python follows
    try:
        return getattr(cmath, name)(z)
    except (ValueError, OverflowError):  # Python raises where C returns infinity or NaN
        return None


def is_close(a, b):
    return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-300) or (math.isnan(a) and math.isnan(b))


# The sign of an infinity beside NaN is anybody's.
def agrees(a, b):
    parts = [(a.real, b.real), (a.imag, b.imag)]
    if any(math.isnan(x) for x, _ in parts):
        parts = [(abs(x) if math.isinf(x) else x, abs(y) if math.isinf(y) else y) for x, y in parts]
    return all(is_close(x, y) for x, y in parts)


@pytest.mark.parametrize("name", NAMES)
def test_equals_annex_g(name):
    results = getattr(t, name)(t.tensor(GRID, dtype=t.complex128)).tolist()
    expected = [outcome(name, z) for z in GRID]
    assert sum(e is not None for e in expected) > 40
    wrong = [
        (z, r, e)
        for z, r, e in zip(GRID, results, expected, strict=True)
        if e is not None and not agrees(r, e)
    ]
    assert wrong == []
