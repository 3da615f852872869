"""The uniform distribution."""

import math

import taeda
from taeda.distributions import constraints
from taeda.distributions.distribution import Distribution

__all__ = ["Uniform"]


class Uniform(Distribution):
    """The same density from `low` up to `high`."""

    has_rsample = True

    def __init__(self, low, high, validate_args=None):
        self._set_parameters(validate_args, low=low, high=high)

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(Uniform, batch_shape, _instance)

    @property
    def arg_constraints(self):
        return {
            "low": constraints.less_than(self.__dict__["high"]),
            "high": constraints.greater_than(self.__dict__["low"]),
        }

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return constraints.interval(self.low, self.high)

    @property
    def mean(self):
        return (self.high + self.low) / 2

    @property
    def mode(self):
        return math.nan * self.high

    @property
    def stddev(self):
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self):
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        part = taeda.rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + part * (self.high - self.low)

    def log_prob(self, value):
        value = self._checked(value)
        is_inside = (self.low <= value) & (value < self.high)
        return is_inside.type_as(self.low).log() - (self.high - self.low).log()

    def cdf(self, value):
        return ((self._checked(value) - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value):
        return value * (self.high - self.low) + self.low

    def entropy(self):
        return (self.high - self.low).log()
