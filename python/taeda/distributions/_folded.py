"""Distributions of the absolute value of a variable that is symmetric around 0."""

import math

import taeda
from taeda.distributions import constraints
from taeda.distributions.transformed_distribution import TransformedDistribution
from taeda.distributions.transforms import AbsTransform


class Folded(TransformedDistribution):
    """|x| where x is a variable of `symmetric`, a class of location and scale."""

    symmetric: type
    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale, validate_args=None):
        base = self.symmetric(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(self._library_class(), _instance)
        return super().expand(batch_shape, new)

    @property
    def scale(self):
        return self.base_dist.scale

    @property
    def mode(self):
        return taeda.zeros_like(self.scale)

    def log_prob(self, value):
        value = taeda.as_tensor(self._checked(value), dtype=self.scale.dtype)
        log_prob = self.base_dist.log_prob(value) + math.log(2)
        return taeda.where(value >= 0, log_prob, -math.inf)

    def cdf(self, value):
        return 2 * self.base_dist.cdf(self._checked(value)) - 1

    def icdf(self, prob):
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)
