"""The direction numbers of Sobol' sequences.

direction_numbers.bin holds those that S. Joe and F. Y. Kuo found by their criterion D(6)
("Constructing Sobol sequences with better two-dimensional projections", SIAM J. Sci. Comput. 30,
2008): a table of 19 rows with a column for each dimension, a primitive polynomial and the first
numbers, as many as its degree. It is compressed by zlib, first the low bytes of all entries, then
the middle ones, then the high ones.
"""

import functools
import zlib
from pathlib import Path

import taeda

BITS = 30
DIMENSIONS = 21201


@functools.cache
def _table():
    """(19, dimensions)"""
    packed = Path(__file__).with_name("direction_numbers.bin").read_bytes()
    bytes_of = taeda.frombuffer(bytearray(zlib.decompress(packed)), dtype=taeda.uint8)
    low, middle, high = bytes_of.view(3, -1, DIMENSIONS).long()
    return low | middle << 8 | high << 16


def direction_numbers(dimension):
    """(dimension, BITS): number j of a dimension in its place, bits BITS - 1 to BITS - 1 - j."""
    table = _table()[:, :dimension]
    polynomials, numbers = table[0], taeda.zeros(dimension, BITS, dtype=taeda.int64)
    numbers[:, :18] = table[1:].t()
    numbers[0] = 1  # the first dimension has no polynomial
    for degree in range(1, int(polynomials[-1]).bit_length()):
        first, last = taeda.searchsorted(polynomials, taeda.tensor([1 << degree, 2 << degree]))
        rows, taps = numbers[first:last], polynomials[first:last, None]
        powers = taeda.arange(degree)
        taps = (taps >> (degree - 1 - powers)) & 1
        for j in range(degree, BITS):
            earlier = rows[:, j - degree : j].flip(1) * taps << (powers + 1)
            new = rows[:, j - degree]
            for term in earlier.unbind(1):
                new = new ^ term
            rows[:, j] = new
    return numbers << (BITS - 1 - taeda.arange(BITS))
