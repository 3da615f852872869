"""Numbers that change between calls, in factories, fills and arguments: one graph, on all backends."""

import functools
import importlib
import itertools
import json
import math
import operator
import struct

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


@pytest.mark.sampled(4)
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


class Sized:
    """Its special methods give a number that changes."""

    def __init__(self, n):
        self.n = n

    def __int__(self):
        return self.n

    def __float__(self):
        return self.n / 2

    def __bool__(self):
        return self.n > 3

    def __eq__(self, other):
        return isinstance(other, Sized) and self.n == other.n

    __index__ = __hash__ = __length_hint__ = lambda self: self.n


# Of a list, and an object whose methods give numbers to C.
TAKEN_BY_C = {
    "item": lambda a, s: a[s],
    "slice": lambda a, s: (a[:s], a[s:], slice(s).indices(9)),
    "range": lambda a, s: list(range(s)),
    "hash": lambda a, s: ({s: 1}[s], hash(s), len({s, Sized(s.n)})),
    "truth": lambda a, s: (bool(s), not s, 1 if s else 2),
    "rounded": lambda a, s: round(3.14159, s),
    "math": lambda a, s: (math.sqrt(s), math.factorial(s), math.gcd(s, 4)),
    "texts": lambda a, s: (hex(s), chr(s), "%d" % s, "a".ljust(s)),
    "written": lambda a, s: (a.insert(s, 9), a.pop(s), a),
    "hint": lambda a, s: operator.length_hint(s),
    "mapped": lambda a, s: (list(map(int, [s])), list(map(float, [s]))),
    "iterators": lambda a, s: list(itertools.islice(a, s)),
    "tensor": lambda a, s: t.ones(9)[:s].sum(),
}


@pytest.mark.parametrize("name", TAKEN_BY_C)
def test_methods_that_give_numbers_to_c(name):
    def program(x, n):
        try:
            return x * n, TAKEN_BY_C[name](list(range(9)), Sized(n))
        except TypeError as error:
            return "handled", str(error)

    compiled = t.compile(program, backend="eager")
    for n in (2, 3, 4, 5, 4):
        assert repr(compiled(t.ones(2), n)) == repr(program(t.ones(2), n))


class Key:
    def __init__(self, n):
        self.n = n

    def __hash__(self):
        return 3

    def __eq__(self, other):
        return self.n == other.n


def _ends(n):
    numbers, rounds = (number for number in (n, n + 1)), 0
    try:
        while True:
            rounds += len([n, next(numbers)])
    except StopIteration:
        return rounds


def _searches(n):
    try:
        return {"a": n}["b"]
    except KeyError:
        return {Key(n): n}.get(Key(n + 1), n)


def _searches_by_key(n):
    try:
        return {Key(n): n}[Key(n + 1)]
    except KeyError as error:
        return error.args[0].n


@pytest.mark.parametrize("function", [_ends, _searches, _searches_by_key])
def test_ends_and_searches_refuse_no_number(function):
    compiled = t.compile(lambda x, n: x * function(n), backend="eager", fullgraph=True)
    for n in (2, 3, 5):
        assert t.equal(compiled(t.ones(2), n), t.ones(2) * function(n))


@pytest.mark.parametrize("convert", [int, float, operator.index])
def test_a_number_that_a_method_gives_stays_one_of_every_graph(convert):
    @t.compile(backend="eager", fullgraph=True, dynamic=True)
    def program(x):
        return x * convert(Sized(x.shape[0]))

    counters.clear()
    for n in (3, 4, 7):
        assert t.equal(program(t.ones(n)), t.full((n,), convert(Sized(n))))
    assert counters["stats"]["unique_graphs"] == 1


def test_a_method_that_gives_no_number_is_an_error_of_the_program():
    class Wrong:
        def __init__(self, n):
            self.n = n

        def __int__(self):
            return self.n / 2

        def __float__(self):
            return self.n

        def __bool__(self):
            return self.n

    def program(x, n):
        told = []
        for convert in (int, float, bool):
            try:
                told.append(convert(Wrong(n)))
            except TypeError as error:
                told.append(str(error))
        return x * n, told

    compiled = t.compile(program, backend="eager")
    for n in (2, 3, 5):
        assert repr(compiled(t.ones(2), n)) == repr(program(t.ones(2), n))


class Bound:
    """A method that is no function of its class."""

    def __get__(self, instance, owner):
        return functools.partial(lambda self: self.n, instance)


class Unusual(Sized):
    def __bool__(*args):
        return args[0].n > 3

    __hash__ = functools.partialmethod(lambda self, step: self.n + step, 1)
    __index__ = Bound()


UNUSUAL = {
    "index": lambda s: (list(range(9))[s], list(itertools.islice(range(9), s)), "a".ljust(s)),
    "hash": lambda s: (hash(s), {s: 1}[s]),
    "truth": lambda s: (bool(s), 1 if s else 2),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_methods_that_no_class_has_as_functions(name):
    def program(x, n):
        try:
            return x * n, UNUSUAL[name](Unusual(n))
        except (TypeError, ValueError) as error:
            return "handled", str(error)

    compiled = t.compile(program, backend="eager")
    for n in (2, 3, 4, 5, 4):
        assert repr(compiled(t.ones(2), n)) == repr(program(t.ones(2), n))


class Held:
    def __init__(self, n):
        self.n = n


# What functions of C make of numbers by their classes.
READ_BY_C = {
    "json": lambda n: json.dumps({"n": [n, (n / 4, None)], n: n > 3}),
    "json in lines": lambda n: json.dumps({"n": n, "l": [n / 4]}, indent=1),
    "json of objects": lambda n: json.dumps([Held(n), n], default=lambda o: {"n": o.n}),
    "struct": lambda n: struct.unpack("<id?", struct.pack("<id?", n, n / 4, n > 3)),
    "methods": lambda n: (int.__repr__(n), float.hex(n / 4), int.__add__(n, 1), int.bit_length(n)),
}


@pytest.mark.parametrize("name", READ_BY_C)
def test_numbers_that_c_reads_by_class(name):
    def program(x, n):
        try:
            return x * n, READ_BY_C[name](n)
        except TypeError as error:
            return "handled", str(error)

    compiled = t.compile(program, backend="eager", fullgraph=True)
    for n in (2, 3, 5, 5):
        assert repr(compiled(t.ones(2), n)) == repr(program(t.ones(2), n))


# Of a float.
REFUSED_BY_C = {
    "text": lambda f: "%(f)x" % {"f": f},
    "item": lambda f: operator.itemgetter(f)([1, 2]),
    "json": lambda f: json.dumps([f, Held(f)]),
}


@pytest.mark.parametrize("name", REFUSED_BY_C)
def test_errors_of_c_name_the_classes_of_numbers(name):
    def program(x, f):
        try:
            return x * f, REFUSED_BY_C[name](f)
        except TypeError as error:
            return x * f, str(error)

    compiled = t.compile(program, backend="eager")
    for f in (2.5, 3.5, 4.5):
        got, expected = compiled(t.ones(2), f), program(t.ones(2), f)
        assert t.equal(got[0], expected[0]) and got[1] == expected[1]


def test_an_index_that_a_method_gives_is_one_of_every_graph():
    @t.compile(backend="eager", fullgraph=True, dynamic=True)
    def program(x):
        n = Sized(x.shape[0] - 1)
        y = x.clone()
        y[:n] = 3
        y[n] = 5
        return y, x[n], x[None, n:], x[Sized(x.shape[0] - 2) : n]

    counters.clear()
    for n in (3, 4, 7):
        x = t.arange(n)
        written = t.full((n,), 3)
        written[-1] = 5
        expected = (written, x[-1], x[None, -1:], x[-2:-1])
        assert all(map(t.equal, program(x), expected))
    assert counters["stats"]["unique_graphs"] == 1


class NoNumber:
    def __int__(self):
        return "1"

    __float__ = __int__

    def __index__(self):
        return 1.5  # noqa: PLE0305


@pytest.mark.parametrize("convert", [int, float, operator.index, lambda o: [1, 2][o], range])
def test_methods_that_give_no_number(convert):
    def program(x):
        try:
            return x, convert(NoNumber())
        except TypeError as error:
            return x + 1, str(error)

    got = t.compile(program, backend="eager", fullgraph=True)(t.ones(2))
    assert t.equal(got[0], t.full((2,), 2.0)) and got[1] == program(t.ones(2))[1]


@pytest.mark.parametrize(
    "convert",
    [operator.index, lambda x: x.__index__(), lambda x: x.__int__(), lambda x: x.__float__()],
)
def test_numbers_of_tensors_by_their_methods(convert):
    compiled = t.compile(lambda x: (x * 2, convert(x) + 1), backend="eager", fullgraph=True)
    for number in (3, 4, 5):
        assert compiled(t.tensor(number)) == (2 * number, number + 1)


def test_an_index_of_a_tensor_of_floats_is_refused():
    def program(x):
        try:
            return operator.index(x)
        except TypeError as error:
            return str(error)

    assert t.compile(program, backend="eager")(t.tensor(1.5)) == program(t.tensor(1.5))


def test_a_number_in_place_of_a_tensor_is_an_input_at_once():
    count = importlib.import_module(f"{NAME}._dynamo.testing").CompileCounter()
    compiled = t.compile(lambda x, y: x * y, backend=count, fullgraph=True)
    for n, y in ((2, None), (3, 3), (4, None), (5, 4), (6, None), (7, 9)):
        x = t.ones(n)
        y = t.ones(n) * 2 if y is None else y
        assert t.equal(compiled(x, y), x * y)
    assert count.frame_count == 3
