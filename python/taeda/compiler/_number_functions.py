"""Functions of `math` on numbers that change, spelled in operations that expressions have.

Captures enter these where an argument is a symbol. `NotImplemented`: C answers for the numbers.
"""

import math

__all__ = ["FUNCTIONS"]


def hypot(*numbers):
    return math.fabs(numbers[0]) if len(numbers) == 1 else NotImplemented


def isclose(a, b, *, rel_tol=1e-09, abs_tol=0.0):
    if rel_tol < 0 or abs_tol < 0:
        return NotImplemented
    a, b = float(a), float(b)
    if a == b:
        return True
    if math.isinf(a) or math.isinf(b):
        return False
    difference = math.fabs(b - a)
    return (
        difference <= math.fabs(rel_tol * b)
        or difference <= math.fabs(rel_tol * a)
        or difference <= abs_tol
    )


def isqrt(n):
    # Roots of larger numbers may be rounded up to an integer.
    is_exact = isinstance(n, int) and 0 <= n < 2**52
    return math.floor(math.sqrt(n)) if is_exact else NotImplemented


def ldexp(x, i):
    # Other powers of two are no normal numbers, and products with them are rounded twice.
    if not isinstance(i, int) or not -1022 <= i <= 1023:
        return NotImplemented
    product = x * 2.0**i
    return product if math.isfinite(product) else NotImplemented


def modf(x):
    rest = math.fmod(x, 1.0)
    return rest, math.copysign(x - rest, x)


FUNCTIONS = {getattr(math, own.__name__): own for own in (hypot, isclose, isqrt, ldexp, modf)}
