"""The Laplace distribution: exponential to both sides."""

import taeda
from taeda.distributions._location_scale import LocationScale

__all__ = ["Laplace"]


class Laplace(LocationScale):
    """Mean `loc`, mean distance from it `scale`."""

    @property
    def mean(self):
        return self.loc

    @property
    def variance(self):
        return 2 * self.scale.pow(2)

    @property
    def stddev(self):
        return 2**0.5 * self.scale

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        eps = taeda.finfo(self.loc.dtype).eps
        side = self.loc.new_empty(shape).uniform_(eps - 1, 1)
        return self.loc - self.scale * side.sign() * taeda.log1p(-side.abs())

    def log_prob(self, value):
        return -(2 * self.scale).log() - (self._checked(value) - self.loc).abs() / self.scale

    def cdf(self, value):
        deviation = self._checked(value) - self.loc
        return 0.5 - 0.5 * deviation.sign() * taeda.expm1(-deviation.abs() / self.scale)

    def icdf(self, value):
        side = value - 0.5
        return self.loc - self.scale * side.sign() * taeda.log1p(-2 * side.abs())

    def entropy(self):
        return 1 + (2 * self.scale).log()
