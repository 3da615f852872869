"""Functions of `math` on numbers that change: one graph, Python's values and Python's errors."""

import importlib
import math

import pytest
from under_test import NAME, t

counters = importlib.import_module(f"{NAME}.compiler._counters").counters
OPTIONS = {"eager": {}, "aot_eager": {}, "inductor": {"options": {"native": "never"}}}

# Of one number of an open interval.
UNARY = {
    **dict.fromkeys(
        [
            "exp",
            "exp2",
            "expm1",
            "sin",
            "cos",
            "tan",
            "sinh",
            "cosh",
            "tanh",
            "asinh",
            "atan",
            "erf",
            "erfc",
            "cbrt",
            "fabs",
            "degrees",
            "radians",
            "floor",
            "ceil",
            "trunc",
            "isfinite",
            "isnan",
            "isinf",
        ],
        (-4.0, 4.0),
    ),
    **dict.fromkeys(["sqrt", "log", "log2", "log10", "log1p"], (0.1, 9.0)),
    **dict.fromkeys(["asin", "acos", "atanh"], (-0.9, 0.9)),
    "acosh": (1.1, 9.0),
}
OTHERS = {
    "pow": lambda f: (math.pow(f, 2.5), math.pow(2, f), math.pow(f, 2)),
    "atan2": lambda f: (math.atan2(f, -1.5), math.atan2(-0.0, f), math.atan2(f, f)),
    "hypot": lambda f: math.hypot(f, 2),
    "copysign": lambda f: (math.copysign(f, -0.0), math.copysign(3, f)),
    "fmod": lambda f: (math.fmod(f, 0.3), math.fmod(7, f), math.fmod(-f, 2)),
    "remainder": lambda f: (math.remainder(f, 0.3), math.remainder(7, f)),
    "log of a base": lambda f: (math.log(f, 3), math.log(7, f), math.log(f, f + 1)),
    "hypot of one": lambda f: (math.hypot(-f), math.fabs(f)),
    "ldexp": lambda f: (math.ldexp(f, -3), math.ldexp(-f, 1023 - 4)),
    "modf": lambda f: (*math.modf(f), *math.modf(-f), *math.modf(f * 4)),
    "isclose": lambda f: (f, math.isclose(f, 9.0), math.isclose(f, f + 0.1, rel_tol=0.5)),
    "isclose within": lambda f: (f, math.isclose(f, 3, abs_tol=2), math.isclose(f, math.inf)),
    "nested": lambda f: math.exp(math.sin(f)) * 3 + math.log(1 + math.fabs(f)),
    "rounded": lambda f: (round(math.exp(f), 2), math.floor(math.log2(f)), int(math.cosh(f))),
    "decided": lambda f: 1.0 if math.sin(f) > -2 else 2.0,
}


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    monkeypatch.setenv("TAEDA_COMPILE_STRICT", "1")
    t._dynamo.reset()
    counters.clear()


def between(low, high):
    return [low + (high - low) * (i + 0.5) / 5 for i in range(5)]


def check(number_of, numbers, backend="eager", graphs=2):
    def program(x, f):
        number = number_of(f)
        first = number[0] if isinstance(number, tuple) else number
        return x * first, number

    compiled = t.compile(program, backend=backend, fullgraph=True, **OPTIONS[backend])
    for f in numbers:
        got, expected = compiled(t.ones(2), f), program(t.ones(2), f)
        assert got[1] == expected[1]
        assert type(got[1]) is type(expected[1])
        assert got[0].equal(expected[0])
    assert counters["stats"]["unique_graphs"] == graphs, dict(counters["recompile"])


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_floats(name):
    check(getattr(math, name), between(*UNARY[name]))


@pytest.mark.parametrize("name", sorted(set(UNARY) - {"asin", "acos", "atanh"}))
def test_functions_of_integers(name):
    check(getattr(math, name), [2, 3, 4, 5, 7])


@pytest.mark.parametrize("name", OTHERS)
def test_functions_of_several_numbers(name):
    check(OTHERS[name], [1.5, 2.5, 3.25, 4.75])


@pytest.mark.parametrize("name", ["isqrt", "modf", "hypot", "ldexp", "prod"])
def test_functions_that_take_integers(name):
    functions = {
        "ldexp": lambda n: (math.ldexp(0.75, n // 20), math.ldexp(n, -(n // 20))),
        "prod": lambda n: math.prod([n, 3, n]),
    }
    check(functions.get(name) or getattr(math, name), [15, 16, 24, 99, 12345])


def test_zeros_keep_their_sign():
    def program(x, f):
        rest, whole = math.modf(f)
        return x, math.copysign(1, rest), math.copysign(1, whole)

    compiled = t.compile(program, backend="eager", fullgraph=True)
    for f in (1.5, 2.5, -0.5, 0.5, -3.0):
        assert compiled(t.ones(1), f)[1:] == program(t.ones(1), f)[1:]


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("name", ["exp", "log1p", "atan2", "pow", "nested"])
def test_numbers_of_graphs_with_kernels(name, backend):
    check(OTHERS.get(name) or getattr(math, name), [1.5, 2.5, 3.25, 4.75], backend)


@pytest.mark.parametrize("backend", OPTIONS)
def test_numbers_reach_operators_and_sizes(backend):
    def program(x, f):
        n = x.size(0)
        y = x.clamp(max=math.exp(f)) + t.full((2,), math.sin(f)) + x.sum() / math.log(n)
        z = t.add(x, x, alpha=math.atan(f)).mul_(math.tanh(f))
        return y, z, t.zeros(math.ceil(math.log2(n)), int(math.exp(f)))

    compiled = t.compile(program, backend=backend, dynamic=True, **OPTIONS[backend])
    for n, f in ((3, 0.5), (5, 1.25), (9, 2.125), (17, 0.25)):
        x = t.arange(2.0 * n).reshape(n, 2)
        t.testing.assert_close(compiled(x, f), program(x, f))
    assert counters["stats"]["unique_graphs"] == 1, dict(counters["recompile"])


# Python raises where a function has no value or one that is no float.
ERRORS = {
    "exp": (1.5, 2.5, 1000.0, 3.5, math.inf, -math.inf, math.nan),
    "sqrt": (1.5, 2.5, -1.0, 3.5, math.inf, -math.inf),
    "log": (1.5, 2.5, 0.0, -1.0, 3.5, math.inf),
    "sin": (1.5, 2.5, math.inf, math.nan, 3.5),
    "acos": (0.5, 0.25, 1.5, -1.0),
    "cosh": (1.5, 2.5, 1e4),
    "pow": (1.5, 2.5, -1.5, 1e300, 0.0),
    "fmod": (1.5, 2.5, 0.0, math.inf),
    "log of a base": (1.5, 2.5, 1.0, -1.0, 0.0),
    "ldexp": (1.5, 2.5, 1e300, math.inf, 3.5, -0.0, 5e-324),
    "ldexp of small": (1.5, 2.5, 5e-324, 1e300),
    "modf": (1.5, 2.5, math.inf, math.nan, -0.0, 3.5),
    "isclose": (1.5, 2.5, math.inf, math.nan, 3.5, 7.0),
    "isclose with tolerances": (0.5, 0.25, -1.0, 3.5),
    "isqrt": (3, 4, -1, 5, 2**31, 2**60),
}
FUNCTIONS = {
    "pow": lambda f: math.pow(f, -1.5),
    "fmod": lambda f: math.fmod(3, f),
    "log of a base": lambda f: math.log(7, f),
    "ldexp": lambda f: math.ldexp(f, 1000),
    "ldexp of small": lambda f: math.ldexp(f, -1060),
    "modf": lambda f: math.modf(f)[1],
    "isclose": lambda f: f if math.isclose(f, 7) else 2 * f,
    "isclose with tolerances": lambda f: f * math.isclose(1, 1.3, rel_tol=f),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_pythons(name):
    number_of = FUNCTIONS.get(name) or getattr(math, name)

    def program(x, f):
        try:
            return x + 1, number_of(f)
        except (ValueError, OverflowError, ZeroDivisionError) as error:
            return x + 1, repr(error)

    compiled = t.compile(program, backend="eager", fullgraph=True)
    for f in ERRORS[name]:
        assert repr(compiled(t.ones(1), f)) == repr(program(t.ones(1), f))


def test_zeros_have_signs():
    def program(x, f):
        return x + 1, abs(f), str(f), math.copysign(1, f), math.atan2(f, -1.0), -f

    compiled = t.compile(program, backend="eager", fullgraph=True)
    for f in (1.5, 2.5, 0.0, -0.0, -1.5, 0.0):
        assert repr(compiled(t.ones(1), f)) == repr(program(t.ones(1), f))
