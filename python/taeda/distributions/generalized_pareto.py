"""The generalized Pareto distribution: what lies above a threshold."""

import math

import taeda
from taeda.distributions import constraints
from taeda.distributions.distribution import Distribution

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """From `loc` on, with `scale`; `concentration` 0 is the exponential, below 0 it ends."""

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(self, loc, scale, concentration, validate_args=None):
        self._set_parameters(validate_args, loc=loc, scale=scale, concentration=concentration)

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(GeneralizedPareto, batch_shape, _instance)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, taeda.where(self.concentration < 0, end, math.inf))

    def _is_exponential(self):
        """Where it is, and concentrations that may be divided by."""
        is_zero = taeda.isclose(self.concentration, taeda.zeros_like(self.concentration))
        return is_zero, taeda.where(
            is_zero, taeda.ones_like(self.concentration), self.concentration
        )

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return self.icdf(taeda.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value):
        z = (self._checked(value) - self.loc) / self.scale
        is_zero, concentration = self._is_exponential()
        power = 1 / concentration + 1
        fall = taeda.where(power == 0, power, power * taeda.log1p(concentration * z))
        return -self.scale.log() - taeda.where(is_zero, z, fall)

    def log_survival_function(self, value):
        z = (self._checked(value) - self.loc) / self.scale
        is_zero, concentration = self._is_exponential()
        return taeda.where(is_zero, -z, -taeda.log1p(concentration * z) / concentration)

    def log_cdf(self, value):
        return taeda.log1p(-self.log_survival_function(value).exp())

    def cdf(self, value):
        return self.log_cdf(value).exp()

    def icdf(self, value):
        left = taeda.log1p(-value)
        is_zero, concentration = self._is_exponential()
        above = taeda.where(is_zero, -left, taeda.expm1(-concentration * left) / concentration)
        return self.loc + self.scale * above

    @property
    def mean(self):
        mean = self.loc + self.scale / (1 - self.concentration)
        return taeda.where(self.concentration < 1, mean, math.nan)

    @property
    def variance(self):
        below = (1 - self.concentration) ** 2 * (1 - 2 * self.concentration)
        return taeda.where(self.concentration < 0.5, self.scale**2 / below, math.nan)

    @property
    def mode(self):
        return self.loc

    def entropy(self):
        return self.scale.log() + self.concentration + 1
