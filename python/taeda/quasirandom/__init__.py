"""Sobol' sequences: points that fill a cube more evenly than random ones."""

import taeda
from taeda.quasirandom._directions import BITS, DIMENSIONS, direction_numbers

__all__ = ["SobolEngine"]


def _gray(number):
    return number ^ (number >> 1)


class SobolEngine:
    """Draws the points of a Sobol' sequence one after the other.

    `scramble` shifts them and mixes their digits at random, by `seed` where it is given; each point
    is then uniform in the cube, and together they stay even.

    Note [Points of a Sobol' sequence]
    Point i is the shift XOR the direction numbers at the set bits of i's Gray code. The Gray code
    is linear, so the points of an aligned block of 2^k indices are those of the first block XOR
    those of the block's number, and a block is doubled by one XOR.
    """

    MAXBIT = BITS
    MAXDIM = DIMENSIONS

    def __init__(self, dimension, scramble=False, seed=None):
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]"
            )
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        self.sobolstate = direction_numbers(dimension)
        self.shift = taeda.zeros(dimension, dtype=taeda.int64, device="cpu")
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def draw(self, n=1, out=None, dtype=None):
        """The next n points, (n, dimension)."""
        dtype = taeda.get_default_dtype() if dtype is None else dtype
        if dtype not in (taeda.float32, taeda.float64):
            raise NotImplementedError(f'"_sobol_engine_draw" not implemented for {dtype}')
        integers = self._integers(self.num_generated, n)
        result = integers.to(dtype).mul_(2.0**-self.MAXBIT)
        if n and self.num_generated == 0:
            result[:1] = self._first_point
        self._move_to(self.num_generated + n)
        if out is not None:
            return out.resize_as_(result).copy_(result)
        return result

    def draw_base2(self, m, out=None, dtype=None):
        """The next 2^m points, where the number of all points stays a power of two."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require "
                f"n to be a power of 2. {self.num_generated} points have been "
                f"previously generated, then: n={self.num_generated}+2**{m}={total}. "
                "If you still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n, out, dtype)

    def reset(self):
        """Begins again with the first point."""
        self._move_to(0)
        return self

    def fast_forward(self, n):
        """Passes over n points."""
        self._move_to(self.num_generated + n)
        return self

    def _move_to(self, count):
        """Sets the number of points that were drawn; `quasi` is the last of them."""
        if count > 1 << self.MAXBIT:
            raise ValueError(f"a Sobol' sequence has 2**{self.MAXBIT} points: got {count}")
        self.quasi = self._at(max(count - 1, 0)) ^ self.shift
        self.num_generated = count

    def _at(self, index):
        """The integers of one point, without the shift."""
        point = taeda.zeros_like(self.shift)
        for bit in range(self.MAXBIT):
            if _gray(index) >> bit & 1:
                point ^= self.sobolstate[:, bit]
        return point

    def _integers(self, start, n):
        """Points start to start + n as integers; see Note [Points of a Sobol' sequence]."""
        if n < 0 or start + n > 1 << self.MAXBIT:
            raise ValueError(
                f"a Sobol' sequence has 2**{self.MAXBIT} points: got {n} behind {start}"
            )
        bits = max(n - 1, 0).bit_length()
        block = taeda.zeros(1 << bits, self.dimension, dtype=taeda.int32)
        for bit in range(bits):
            half, step = block[: 1 << bit], self._at(1 << bit).int()
            taeda.bitwise_xor(half, step, out=block[1 << bit : 2 << bit])
        result, filled = block.new_empty(n, self.dimension), 0
        while filled < n:
            base = (start + filled) >> bits << bits
            rows = block[start + filled - base :][: n - filled]
            shift = (self._at(base) ^ self.shift).int()
            taeda.bitwise_xor(rows, shift, out=result[filled : filled + len(rows)])
            filled += len(rows)
        return result

    def _scramble(self):
        generator = None if self.seed is None else taeda.Generator().manual_seed(self.seed)
        shape = (self.dimension, self.MAXBIT)
        place = {"device": "cpu", "generator": generator}
        powers = 2 ** taeda.arange(self.MAXBIT)
        self.shift = (taeda.randint(2, shape, **place) * powers).sum(-1)
        mixing = taeda.randint(2, (*shape, self.MAXBIT), **place).tril()
        mixing.diagonal(0, -2, -1).fill_(1)
        powers = powers.flip(0)  # digits begin with the highest
        digits = (self.sobolstate.unsqueeze(-1) & powers).ne(0).float()
        mixed = taeda.matmul(digits, mixing.float().mT).long() & 1
        self.sobolstate = (mixed * powers).sum(-1)

    def __repr__(self):
        parts = [f"dimension={self.dimension}"]
        if self.scramble:
            parts.append("scramble=True")
        if self.seed is not None:
            parts.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(parts)})"
