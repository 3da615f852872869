"""The Cauchy distribution."""

import math

import taeda
from taeda.distributions._location_scale import LocationScale

__all__ = ["Cauchy"]


class Cauchy(LocationScale):
    """Median `loc`, half width at half height `scale`; it has no mean."""

    @property
    def mean(self):
        return taeda.full_like(self.loc, math.nan)

    @property
    def variance(self):
        return taeda.full_like(self.loc, math.inf)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return self.loc + self.loc.new_empty(shape).cauchy_() * self.scale

    def log_prob(self, value):
        return -math.log(math.pi) - self.scale.log() - (self._deviation(value) ** 2).log1p()

    def cdf(self, value):
        return taeda.atan(self._deviation(value)) / math.pi + 0.5

    def icdf(self, value):
        return taeda.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()
