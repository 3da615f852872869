"""Numbers that change between calls, in factories, fills and arguments: one graph, on all backends."""

import importlib
import math
import operator

import pytest
from under_test import NAME, t

F = importlib.import_module(f"{NAME}.nn.functional")
counters = importlib.import_module(f"{NAME}.compiler._counters").counters

OPTIONS = {"eager": {}, "aot_eager": {}, "inductor": {"options": {"native": "never"}}}

# Of a tensor of four floats, an int n and a float f.
PROGRAMS = {
    "full": lambda x, n, f: t.full((n, 1), n / 10) + x,
    "full_of_float": lambda x, n, f: t.full((n, 1), f) * x,
    "full_of_expression": lambda x, n, f: t.full((2,), f * 2 + n / 3 - 1),
    "full_of_root": lambda x, n, f: t.full(
        (abs(n + 5 - round(f)) % 5 + 1,), math.sqrt(abs(float(n)))
    ),
    "full_of_integers": lambda x, n, f: t.full((2, n), n * 3),
    "full_cut_to_integers": lambda x, n, f: t.full((2,), f, dtype=t.int64),
    "full_of_truth": lambda x, n, f: t.full((2,), f, dtype=t.bool),
    "full_like": lambda x, n, f: t.full_like(x, f / n),
    "new_full": lambda x, n, f: x.new_full((n,), f),
    "fill_": lambda x, n, f: t.zeros(3).fill_(f) + t.empty(n).fill_(n * f).sum(),
    "tensor": lambda x, n, f: t.tensor(f) * x,
    "tensor_of_list": lambda x, n, f: t.tensor([f, n / 7, 1.0]),
    "tensor_of_integers": lambda x, n, f: t.tensor([n, n + 1, 2]),
    "scalar_tensor": lambda x, n, f: t.scalar_tensor(f + n),
    "as_tensor": lambda x, n, f: t.as_tensor(f) + x,
    "arange": lambda x, n, f: t.arange(n) * f,
    "arange_from": lambda x, n, f: t.arange(n, n + 4),
    "arange_step": lambda x, n, f: t.arange(0, 3 * n, n),
    "linspace": lambda x, n, f: t.linspace(0, f, 5),
    "linspace_between": lambda x, n, f: t.linspace(f, n / 2, 4),
    "clamp": lambda x, n, f: x.clamp(-f, f / 2) + x.clamp(min=n / 10),
    "clamp_integers": lambda x, n, f: t.arange(5).clamp(max=n),
    "clamp_": lambda x, n, f: (x * 1).clamp_(max=f),
    "rest_of_a_quotient": lambda x, n, f: x * (f % 0.3) + 7.0 // f,
    "masked_fill": lambda x, n, f: x.masked_fill(x > 0, f),
    "where": lambda x, n, f: t.where(x > f, x, f * n),
    "pad": lambda x, n, f: F.pad(x, (1, 2), value=f),
    "threshold": lambda x, n, f: F.threshold(x, f, n / 2),
    "leaky": lambda x, n, f: F.leaky_relu(x, f) + F.elu(x, f),
    "add_alpha": lambda x, n, f: t.add(x, x, alpha=f) - t.sub(x, 1, alpha=n),
    "lerp": lambda x, n, f: t.lerp(x, x + 1, f),
    "addcmul": lambda x, n, f: t.addcmul(x, x, x, value=f / n),
    "nan_to_num": lambda x, n, f: t.nan_to_num(x / 0 * 0, nan=f),
    "scaled": lambda x, n, f: x * f + x / (f + n) - (f - x),
    "item_written": lambda x, n, f: _written(x, f),
    "number_given": lambda x, n, f: (x * (f * 2), f * 2, n / 4, n * 2),
    "rounded_to_integer": lambda x, n, f: t.zeros(int(f * 8) + n),
    "variance": lambda x, n, f: x.var(correction=0) * f,
    "drawn": lambda x, n, f: t.rand(n) * f,
    "normal": lambda x, n, f: t.empty(3).normal_(0.0, 1.0) * f,
    "root": lambda x, n, f: x * (n**0.5),
    "power": lambda x, n, f: (x.abs() + 1) ** f + t.pow(x.abs() + 2, f),
    "whole_power": lambda x, n, f: x**n + t.arange(4).pow(n),
    "power_of_number": lambda x, n, f: f**x + t.pow(n, x),
    "numbers_to_powers": lambda x, n, f: x * f**2 + x * f**n - 2.0**f * x + x * f**-1.5,
}


def _written(x, f):
    y = x.clone()
    y[0] = f
    y[1:3] = f * 2
    return y


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    monkeypatch.setenv("TAEDA_COMPILE_STRICT", "1")


@pytest.mark.parametrize("backend", OPTIONS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_with_numbers_that_change(name, backend):
    def program(x, n, f):
        return PROGRAMS[name](x, n, f)

    compiled = t.compile(program, backend=backend, **OPTIONS[backend])
    x = t.tensor([-1.5, 0.25, 0.75, 2.0])
    for n, f in ((2, 0.5), (3, 0.75), (4, 0.625), (5, 0.25)):
        t.manual_seed(n)
        expected = program(x, n, f)
        t.manual_seed(n)
        got = compiled(x, n, f)
        t.testing.assert_close(got, expected, rtol=1e-6, atol=1e-6, equal_nan=True)
        assert type(got) is type(expected)
        if isinstance(got, t.Tensor):
            assert got.dtype == expected.dtype and got.stride() == expected.stride()


# A size that is counted in steps of a number, and arguments that are floats of C++.
SPECIALIZED = {"rounded_to_integer", "arange_step", "pad", "nan_to_num"}


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - SPECIALIZED))
def test_changing_numbers_are_compiled_twice(name):
    def program(x, n, f):
        return PROGRAMS[name](x, n, f)

    counters.clear()
    compiled = t.compile(program, backend="eager", fullgraph=True)
    for n, f in ((2, 0.5), (3, 0.75), (4, 0.625), (5, 0.25), (6, 0.375)):
        compiled(t.ones(4), n, f)
    assert counters["stats"]["unique_graphs"] == 2, dict(counters["recompile"])


def test_numbers_are_computed_in_the_kernel():
    def program(x, n, f):
        return (x * (f * 2 + n / 10)).relu() + t.full_like(x, f - n)

    compiled = t.compile(program, **OPTIONS["inductor"])
    x = t.ones(4)
    for n, f in ((2, 0.5), (3, 0.75), (4, 0.625)):
        t.testing.assert_close(compiled(x, n, f), program(x, n, f))


@pytest.mark.parametrize("backend", OPTIONS)
def test_gradients_of_powers_with_numbers_that_change(backend):
    def program(x, n, f):
        return (x**f + f**x + x**n + t.pow(n, x)).sum()

    counters.clear()
    compiled = t.compile(program, backend=backend, fullgraph=True, **OPTIONS[backend])
    for n, f in ((2, 0.5), (3, 2.0), (4, 3.0), (5, 1.25), (6, 0.75)):
        x, own = (t.tensor([0.0, 0.25, 1.5], requires_grad=True) for _ in range(2))
        got, expected = compiled(x, n, f), program(own, n, f)
        got.backward()
        expected.backward()
        t.testing.assert_close(got, expected)
        t.testing.assert_close(x.grad, own.grad)
    assert counters["stats"]["unique_graphs"] == 2, dict(counters["recompile"])


def test_powers_that_are_no_floats():
    def program(x, f, g):
        try:
            return x, f**g
        except (OverflowError, ZeroDivisionError) as error:
            return x, type(error)

    compiled = t.compile(program, backend="eager")
    for f, g in ((2.0, 0.5), (3.0, 1.5), (-2.0, 0.5), (0.0, 1.5), (0.0, -1.5), (1e200, 2.5)):
        got, expected = compiled(t.ones(1), f, g)[1], program(t.ones(1), f, g)[1]
        assert got == expected and type(got) is type(expected)


FILLS = {
    "full": (lambda x, v: t.full((2,), v) + x, (1.0, 2.0, 3.0, 1e300, 4.0, -1e39, float("inf"))),
    "fill": (lambda x, v: x.clone().fill_(v), (1.0, 2.0, 1e300, 3.0)),
    "half": (lambda x, v: t.full((2,), v, dtype=t.half), (1.0, 2.0, 1e5, 65519.0, 3.0)),
    "int32": (lambda x, v: t.full((2,), v, dtype=t.int32), (1, 2, 2**31 - 1, 2**31, 3)),
    "uint8": (lambda x, v: t.full((2,), v, dtype=t.uint8), (1, 2, 255, 256, -1, 3)),
    "masked": (lambda x, v: x.masked_fill(x > 0, v), (1.0, 2.0, 1e300, 3.0)),
    "clamp": (lambda x, v: x.clamp(max=v), (1.0, 2.0, 1e300, 0.5)),
    "scalar_tensor": (lambda x, v: x + t.scalar_tensor(v), (1.0, 2.0, 1e300, 3.0)),
    "empty": (lambda x, v: t.full((0,), v), (1.0, 2.0, 1e300, 3.0)),
}


def _outcome(function, value):
    try:
        return function(t.ones(2), value).tolist()
    except RuntimeError as error:
        return str(error)


@pytest.mark.parametrize("backend", OPTIONS)
@pytest.mark.parametrize("name", FILLS)
def test_changing_numbers_beyond_a_dtype_are_refused(name, backend):
    program, values = FILLS[name]
    compiled = t.compile(program, backend=backend, **OPTIONS[backend])
    for value in values:
        assert _outcome(compiled, value) == _outcome(program, value)


@pytest.mark.parametrize("backend", OPTIONS)
def test_floats_that_change_are_rounded_as_python_does(backend):
    def program(x, f):
        return x * round(f, 1), round(f, 2), round(f, 0)

    counters.clear()
    compiled = t.compile(program, backend=backend, fullgraph=True, **OPTIONS[backend])
    x = t.ones(2, dtype=t.float64)
    for f in (0.05, 0.15, 0.25, 2.675, 1.005, -0.45, 2.5, -2.5, 123456.789, 1e-9):
        scaled, *rounded = compiled(x, f)
        assert rounded == [round(f, 2), round(f, 0)]
        assert scaled[0].item() == round(f, 1)
    assert counters["stats"]["unique_graphs"] == 2


QUOTIENTS = {
    "floor": lambda f, n: (f // 0.3, f // -1.5, n // 0.1),
    "rest": lambda f, n: (f % 0.3, f % -1.5, n % 0.1),
    "both": lambda f, n: (divmod(f, 0.7), divmod(n, -0.3)),
    "functions": lambda f, n: (operator.floordiv(f, 0.3), operator.mod(n, 0.1)),
}


@pytest.mark.parametrize("backend", OPTIONS)
@pytest.mark.parametrize("name", QUOTIENTS)
def test_floored_quotients_of_floats_are_pythons(name, backend):
    def program(x, f):
        return x.double() * 3, *QUOTIENTS[name](f, x.shape[0])

    counters.clear()
    compiled = t.compile(program, backend=backend, fullgraph=True, **OPTIONS[backend])
    for size, f in ((3, 7.7), (4, 3.0), (5, -6.0), (6, 1e17), (7, 0.3), (9, -2.5)):
        assert repr(compiled(t.ones(size), f)[1:]) == repr(program(t.ones(size), f)[1:])
    assert counters["stats"]["unique_graphs"] == 2, dict(counters["recompile"])


@pytest.mark.parametrize("backend", OPTIONS)
def test_tensors_take_floored_quotients_of_floats(backend):
    def program(x, f):
        return x.double() * (f % 0.3) + x.shape[0] // 0.1

    compiled = t.compile(program, backend=backend, **OPTIONS[backend])
    for size, f in ((3, 7.7), (4, 3.0), (5, -6.0), (6, 1e17)):
        t.testing.assert_close(compiled(t.ones(size), f), program(t.ones(size), f))


# Of an int: an error, or another class, at some of them.
EXCEPTIONS = {
    "divmod": lambda n: divmod(0, n),
    "divmod of itself": lambda n: divmod(n, n)[0],
    "floordiv": lambda n: operator.floordiv(0, n),
    "mod": lambda n: operator.mod(0, n),
    "truediv": lambda n: operator.truediv(0, n),
    "root": lambda n: n**0.5,
    "inverse": lambda n: n**-1,
    "pow": lambda n: pow(n, -1),
    "root by operator": lambda n: operator.pow(n, 0.5),
    "large": lambda n: n**200.0,
    "power of a float": lambda n: 2.5**n,
}


@pytest.mark.parametrize("backend", OPTIONS)
@pytest.mark.parametrize("name", EXCEPTIONS)
def test_integers_without_a_quotient_or_power(name, backend):
    def program(x, n):
        try:
            return x + 1, EXCEPTIONS[name](n)
        except (OverflowError, ZeroDivisionError) as error:
            return x + 1, repr(error)

    compiled = t.compile(program, backend=backend, **OPTIONS[backend])
    for n in (5, 2, 3, 0, -1, -3, 40):
        got, expected = compiled(t.ones(1), n)[1], program(t.ones(1), n)[1]
        assert type(got) is type(expected)
        assert got == pytest.approx(expected) if isinstance(got, complex) else got == expected


# What Python makes of an int without arithmetic.
SHOWN = {
    "format": lambda n: (format(n, "b"), format(n * 1.5, ".2f"), f"{n:>5}", f"{n:03d}"),
    "texts": lambda n: ("%03d" % n, str(n), repr(n * 2), hex(n), bin(n)),
    "inverse bits": lambda n: ({3: "a"}.get(n), ~n, n << 1),
    "modular power": lambda n: (pow(n, 2, 5), pow(7, n, 3)),
}


@pytest.mark.parametrize("name", SHOWN)
def test_integers_that_are_shown(name):
    def program(x, n):
        return x + 1, SHOWN[name](n)

    compiled = t.compile(program, backend="eager", fullgraph=True)
    for n in (3, 4, 5, 8):
        assert repr(compiled(t.ones(1), n)) == repr(program(t.ones(1), n))


def test_a_result_has_no_gradient():
    def program(x):
        y = x + 1
        return y, y.grad is None

    whole = t.compile(program, backend="eager", fullgraph=True)
    assert whole(t.ones(2))[1]
