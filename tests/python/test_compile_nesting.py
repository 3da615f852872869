"""Programs that compile inside of compiled ones, and calls that nest as deeply as Python lets them."""

import pytest
from under_test import t


def test_functions_that_a_program_compiles():
    @t.compile(backend="eager", fullgraph=True)
    def program(x):
        def shifted(y):
            return y + x

        twice = t.compile(lambda y: y * 2, backend="eager")
        return t.compile(backend="eager")(shifted)(twice(x))

    for size in (2, 3):
        assert t.equal(program(t.ones(size)), t.full((size,), 3.0))


def test_modules_that_a_program_compiles():
    model = t.nn.Linear(2, 2)

    @t.compile(backend="eager")
    def program(x):
        compiled = t.compile(model, backend="eager")
        return compiled, compiled(x) * 2

    for _ in range(2):
        compiled, result = program(t.ones(1, 2))
        assert type(compiled).__name__ == "OptimizedModule"
        assert t.equal(result, model(t.ones(1, 2)) * 2)


def deep(x, n, log):
    if n == 0:
        log.append(1)
        print(end="")  # a break, below all other frames
        return x + 1
    return deep(x, n - 1, log) * 1


def caught(x, n, log):
    try:
        return deep(x * 2, n, log)
    except RecursionError:
        return x - 1


def depth_left(function, *args):
    """The deepest nesting that still has a result."""
    low, high = 1, 2000
    while high - low > 1:
        middle = (low + high) // 2
        result = function(*args, middle, [])
        low, high = (middle, high) if result[0] > 1 else (low, middle)
    return low


@pytest.mark.parametrize("dynamic, less", [(None, 0), (True, 30)])
def test_calls_near_the_recursion_limit(dynamic, less):
    depth = depth_left(caught, t.ones(1)) - less
    log = []
    compiled = t.compile(caught, backend="eager", dynamic=dynamic)
    # The call itself takes frames, as any callable of Python would.
    result = compiled(t.ones(1), depth - 3, log)
    assert t.equal(result, t.full((1,), 3.0)) and log == [1]


@pytest.mark.parametrize("first", [5, 3000])
def test_nesting_without_an_end_is_the_programs_error(first):
    def counted(n):
        return 0 if n == 0 else 1 + counted(n - 1)

    def program(x, n):
        try:
            k = counted(n)
        except RecursionError:
            k = -1
        return x * 2 + k

    compiled = t.compile(program, backend="eager", fullgraph=True)
    for n in (first, 7, 100_000, 6):
        assert t.equal(compiled(t.ones(1), n), program(t.ones(1), n))
