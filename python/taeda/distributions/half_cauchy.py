"""The absolute value of a Cauchy variable around 0."""

import math

import taeda
from taeda.distributions._folded import Folded
from taeda.distributions.cauchy import Cauchy

__all__ = ["HalfCauchy"]


class HalfCauchy(Folded):
    """|x| where x is a Cauchy variable of `scale`."""

    symmetric = Cauchy

    @property
    def mean(self):
        return taeda.full_like(self.scale, math.inf)

    @property
    def variance(self):
        return self.base_dist.variance
