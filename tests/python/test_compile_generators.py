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
