"""The absolute value of a Normal variable around 0."""

import math

from taeda.distributions._folded import Folded
from taeda.distributions.normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(Folded):
    """|x| where x is a Normal variable of `scale`."""

    symmetric = Normal

    @property
    def mean(self):
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self):
        return self.scale.pow(2) * (1 - 2 / math.pi)
