"""Numbers that change and leave 64 bits, or what Python's operations take: as without compiling."""

import functools
import math
import operator

import pytest

import taeda as t

INTS = [62, 63, 64, -1, -2, 0, 1, 2**21, 2**31, 2**40, 2**62, -(2**63), 2**63, 2**70]
FLOATS = [1e10, 1e19, -1e19, 1e300, math.inf, -math.inf, math.nan, 0.0, 2.0**53 + 2]

OF_INTS = {
    "two_to_the_power": lambda n: 2**n if n < 100 else n,
    "pow": lambda n: pow(2, n) if n < 100 else n,
    "shifted": lambda n: 1 << n if n < 100 else n,
    "shifted_down": lambda n: 1000 >> n,
    "cube": lambda n: n * n * n,
    "cube_by_reduce": lambda n: functools.reduce(operator.mul, [n, n, n]),
    "sums": lambda n: sum([n * n, n * n, n * n], n),
    "quotient": lambda n: (n * n) / 3,
    "bits": lambda n: (n & 12345, n | 1, n ^ -1),
    "relations": lambda n: (n * 4 > n, n * n >= 0, n * n * n == 0),
    "floored": lambda n: (n * n // 7, n * n % 7),
}
OF_FLOATS = {
    "int": int,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
    "trunc": math.trunc,
    "twice": lambda s: int(s * 2),
    "halves": lambda s: (s // 0.5, s % 0.5) if s != 0 else s,
    "is_integer": lambda s: s.is_integer(),
}


def answer(function, number):
    """What a call gives or raises; NaN equals itself."""
    try:
        return repr(function(number))
    except (OverflowError, ValueError, ZeroDivisionError) as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("name", [*OF_INTS, *OF_FLOATS])
def test_numbers_are_pythons(name, backend):
    compute = OF_INTS.get(name) or OF_FLOATS[name]
    values, first = (INTS, (2, 3, 5)) if name in OF_INTS else (FLOATS, (0.75, 1.25, 2.5))

    def program(x, number):
        return x + 1, compute(number)

    for value in values:
        t.compiler.reset()
        compiled = t.compile(program, backend=backend)

        def compute_compiled(number, compiled=compiled):
            return compiled(t.ones(2), number)[1]

        for number in (*first, value):
            assert answer(compute_compiled, number) == answer(compute, number), (name, number)


def test_kernels_get_the_number():
    @t.compile
    def scaled(x, n):
        return x * (n * n * n)

    for n in (2, 3, 5, 2**20, 2_000_000):
        assert t.equal(scaled(t.ones(2), n), t.ones(2) * n**3)
    with pytest.raises(OverflowError, match="int too big to convert"):
        scaled(t.ones(2), 2**22)


def test_small_numbers_make_two_graphs():
    counter = t._dynamo.testing.CompileCounter()

    @t.compile(backend=counter)
    def program(x, n):
        return x * (n * n * n) + (1 << n)

    for n in (2, 3, 5, 7, 11, 13):
        program(t.ones(2), n)
    assert counter.frame_count == 2
