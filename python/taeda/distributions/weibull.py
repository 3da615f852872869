"""The Weibull distribution: times to failure."""

import taeda
from taeda.distributions import constraints
from taeda.distributions.exponential import Exponential
from taeda.distributions.transformed_distribution import TransformedDistribution
from taeda.distributions.transforms import AffineTransform, PowerTransform
from taeda.distributions.utils import broadcast_all, euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """scale * x^(1/concentration) of a standard exponential x."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale, concentration, validate_args=None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(taeda.ones_like(self.scale), validate_args=validate_args)
        transforms = [
            PowerTransform(exponent=self.concentration_reciprocal),
            AffineTransform(loc=0, scale=self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Weibull, _instance)
        new.scale = self.scale.expand(batch_shape)
        new.concentration = self.concentration.expand(batch_shape)
        new.concentration_reciprocal = new.concentration.reciprocal()
        return super().expand(batch_shape, _instance=new)

    def _moment(self, order):
        return taeda.lgamma(1 + order * self.concentration_reciprocal).exp()

    @property
    def mean(self):
        return self.scale * self._moment(1)

    @property
    def mode(self):
        part = (self.concentration - 1) / self.concentration
        return self.scale * part**self.concentration_reciprocal

    @property
    def variance(self):
        return self.scale.pow(2) * (self._moment(2) - self._moment(1).pow(2))

    def entropy(self):
        return (
            euler_constant * (1 - self.concentration_reciprocal)
            + (self.scale * self.concentration_reciprocal).log()
            + 1
        )
