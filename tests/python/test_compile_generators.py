"""Generators that a compiled function leaves before their end: their `finally` runs as it does
without compilation, once and in the same order."""

import contextlib

import pytest
from under_test import t

log = []


def steps(tag, x, error=None):
    try:
        log.append(("begin", tag))
        yield x.sin()
        yield x.cos()
    except ValueError:
        log.append(("value", tag))
        yield x.tan()
    finally:
        log.append(("end", tag))
        if error:
            raise error


def left(x):
    return next(steps("a", x))


def left_in_a_variable(x):
    g = steps("a", x)
    return next(g)


def thrown_into(x):
    g = steps("a", x)
    return next(g) + g.throw(ValueError)


def two(x):
    h, g = steps("h", x), steps("g", x)
    return next(g) + next(h)


def in_a_called_function(x):
    def inner(x):
        g = steps("a", x)
        return next(g)

    y = inner(x)
    log.append("behind")
    return y


def left_by_break(x):
    for v in steps("a", x):
        x = x + v
        break
    log.append("behind")
    return x


def in_a_list(x):
    all_three = [steps(i, x) for i in range(3)]
    y = sum(next(g) for g in all_three)
    log.append("behind")
    return y


def in_a_variable_that_changes(x):
    g = steps("a", x)
    y = next(g)
    g = None
    log.append("behind")
    return y


def behind_a_break(x):
    g = steps("a", x)
    y = next(g)
    t.compiler.graph_break()
    return y + next(g)


def given_back(x):
    g = steps("a", x)
    return next(g), g


def kept_by_an_argument(x, kept=None):
    kept = kept or []
    kept.append(steps("a", x))
    return next(kept[0])


def entered_by_hand(x):
    @contextlib.contextmanager
    def scope():
        log.append("enter")
        try:
            yield
        finally:
            log.append("exit")

    scope().__enter__()
    return x + 1


PROGRAMS = [
    *(left, left_in_a_variable, thrown_into, two, in_a_called_function, left_by_break, in_a_list),
    *(in_a_variable_that_changes, behind_a_break, given_back, kept_by_an_argument),
    entered_by_hand,
]


def ran(f):
    log.clear()
    result = f(t.ones(2))
    first, *rest = result if isinstance(result, tuple) else [result]
    at_return = list(log)
    following = [v.tolist() for generator in rest for v in generator]
    del result, rest
    return first.tolist(), following, at_return, list(log)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_generators_end_as_without_compilation(f):
    compiled = t.compile(f, backend="eager")
    expected = ran(f)
    assert [ran(compiled), ran(compiled)] == [expected, expected]


BREAKS = (behind_a_break, given_back)


@pytest.mark.parametrize("f", [f for f in PROGRAMS if f not in BREAKS], ids=lambda f: f.__name__)
def test_they_are_captured(f):
    assert ran(t.compile(f, backend="eager", fullgraph=True)) == ran(f)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_error_as_one_ends():
    def f(x):
        g = steps("a", x, KeyError("k"))
        return next(g)

    assert ran(t.compile(f, backend="eager")) == ran(f)


def numbers(x, k=2, *more, m=1, **named):
    yield x * k
    yield x + m + sum(more) + sum(named.values())


def of_an_expression(x):
    y = x.sin()
    return (v * y for v in [1, 2, 3])


def of_a_closure(x):
    y = x.cos()

    def own(n):
        nonlocal y
        for _ in range(n):
            y = y + 1
            yield y

    return own(2)


NOT_BEGUN = {
    "function": lambda x: numbers(x),
    "arguments": lambda x: numbers(x, 3, 4, 5, m=6, z=7),
    "expression": of_an_expression,
    "closure": of_a_closure,
    "zip": lambda x: (y + n for n, y in zip(range(3), of_a_closure(x), strict=False)),
}


@pytest.mark.parametrize("name", NOT_BEGUN)
def test_generators_that_did_not_begin_are_given_back(name):
    def f(x):
        return x + 1, NOT_BEGUN[name](x + 1)

    y, generator = t.compile(f, backend="eager", fullgraph=True)(t.ones(2))
    expected = f(t.ones(2))
    assert t.equal(y, expected[0]) and type(generator) is type(expected[1])
    assert [v.tolist() for v in generator] == [v.tolist() for v in expected[1]]
