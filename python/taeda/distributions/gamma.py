"""The gamma distribution."""

import taeda
from taeda.distributions import constraints
from taeda.distributions.exp_family import ExponentialFamily

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """Shape `concentration`, inverse scale `rate`."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration, rate, validate_args=None):
        self._set_parameters(validate_args, concentration=concentration, rate=rate)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Gamma, _instance)
        new.concentration = self.concentration.expand(batch_shape)
        new.rate = self.rate.expand(batch_shape)
        return self._finish_expanding(new, taeda.Size(batch_shape))

    @property
    def mean(self):
        return self.concentration / self.rate

    @property
    def mode(self):
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self):
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        value = taeda._standard_gamma(self.concentration.expand(shape)) / self.rate
        return value.clamp(min=taeda.finfo(value.dtype).tiny)

    def log_prob(self, value):
        value = taeda.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        value = self._checked(value)
        return (
            taeda.xlogy(self.concentration, self.rate)
            + taeda.xlogy(self.concentration - 1, value)
            - self.rate * value
            - taeda.lgamma(self.concentration)
        )

    def cdf(self, value):
        return taeda.special.gammainc(self.concentration, self.rate * self._checked(value))

    def entropy(self):
        return (
            self.concentration
            - self.rate.log()
            + taeda.lgamma(self.concentration)
            + (1.0 - self.concentration) * taeda.digamma(self.concentration)
        )

    @property
    def _natural_params(self):
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x, y):
        return taeda.lgamma(x + 1) + (x + 1) * (-y.reciprocal()).log()
