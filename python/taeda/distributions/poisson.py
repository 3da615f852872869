"""The Poisson distribution: events per unit."""

import taeda
from taeda.distributions import constraints
from taeda.distributions.exp_family import ExponentialFamily
from taeda.distributions.utils import broadcast_all

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """Numbers of events that happen `rate` times on average."""

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate, validate_args=None):
        self._set_parameters(validate_args, rate=rate)

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(Poisson, batch_shape, _instance)

    @property
    def mean(self):
        return self.rate

    @property
    def mode(self):
        return self.rate.floor()

    @property
    def variance(self):
        return self.rate

    def sample(self, sample_shape=()):
        with taeda.no_grad():
            return taeda.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        rate, value = broadcast_all(self.rate, self._checked(value))
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self):
        return (self.rate.log(),)

    def _log_normalizer(self, x):
        return x.exp()
