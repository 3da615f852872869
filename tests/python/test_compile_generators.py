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


BREAKS = (behind_a_break,)


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


class Kept:
    generator = None


def sums(x):
    total = x
    while True:
        total = total + x
        yield total


def delegating(x):
    for v in numbers(x):
        with contextlib.nullcontext(v) as given:
            yield given
    yield from numbers(x * 3)


def waiting(generator, times):
    for _ in range(times):
        next(generator)
    return generator


def ended(generator):
    for _ in generator:
        pass
    return generator


def of_two_functions(x):
    count = 0

    def own():
        nonlocal count
        for i in range(4):
            count += i
            yield x * count

    generator = waiting(own(), 2)
    return generator, lambda: count


WAITING = {
    "loop": lambda x: waiting(numbers(x, 3, 4, 5, m=6, z=7), 1),
    "expression": lambda x: waiting(of_an_expression(x), 2),
    "closure": lambda x: waiting(of_a_closure(x), 1),
    "inside of a with statement": lambda x: waiting(delegating(x), 1),
    "delegating": lambda x: waiting(delegating(x), 3),
    "ended": lambda x: ended(numbers(x)),
}


@pytest.mark.parametrize("name", WAITING)
def test_generators_that_wait_are_given_back(name):
    def f(x):
        return x + 1, WAITING[name](x + 1)

    compiled = t.compile(f, backend="eager", fullgraph=True)
    for x in (t.ones(2), t.zeros(2)):
        (y, generator), expected = compiled(x), f(x)
        assert t.equal(y, expected[0]) and type(generator) is type(expected[1])
        assert generator.gi_code is expected[1].gi_code
        assert [v.tolist() for v in generator] == [v.tolist() for v in expected[1]]


def test_a_generator_shares_its_variables_with_functions():
    generator, count = t.compile(of_two_functions, backend="eager", fullgraph=True)(t.ones(2))
    assert count() == 1
    assert [next(generator).tolist(), count()] == [[3.0, 3.0], 3]


def test_a_generator_that_is_kept_goes_on_at_the_next_call():
    kept = Kept()

    @t.compile(backend="eager")
    def f(x):
        if kept.generator is None:
            kept.generator = sums(x)
            next(kept.generator)
        return next(kept.generator) * 2

    assert [f(t.ones(1)).item() for _ in range(3)] == [6.0, 8.0, 10.0]


def test_a_generator_is_thrown_into_behind_the_region():
    log.clear()
    _, generator = t.compile(given_back, backend="eager", fullgraph=True)(t.ones(2))
    assert t.equal(generator.throw(ValueError), t.ones(2).tan())
    generator.close()
    assert log == [("begin", "a"), ("value", "a"), ("end", "a")]


def test_a_region_goes_on_to_the_break_behind_a_generator():
    sizes = []

    def backend(gm, inputs):
        sizes.append(sum(node.op.startswith("call") for node in gm.graph.nodes))
        return gm.forward

    def f(x):
        generator = numbers(x.sin())
        y = next(generator).cos()
        t.compiler.graph_break()
        return y + next(generator)

    x = t.ones(2)
    assert t.equal(t.compile(f, backend=backend)(x), f(x))
    assert sizes[0] == 3


def test_graph_of_a_generator_has_its_gradients():
    w = t.ones(3, requires_grad=True)

    def f(x):
        return waiting(numbers(x * w), 1)

    next(t.compile(f, backend="aot_eager", fullgraph=True)(t.arange(3.0))).sum().backward()
    assert w.grad.tolist() == [0.0, 1.0, 2.0]
