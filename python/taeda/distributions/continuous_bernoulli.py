"""The continuous Bernoulli distribution: numbers from 0 to 1 with density c p^x (1-p)^(1-x)."""

import math

import taeda
from taeda.distributions import constraints
from taeda.distributions._probs_or_logits import ProbsOrLogits
from taeda.distributions.exp_family import ExponentialFamily
from taeda.distributions.utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs
from taeda.nn.functional import binary_cross_entropy_with_logits

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """Between the `lims`, where formulas divide by about 0, their series around 1/2 are used."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        self._lims = lims
        self._set_probs_or_logits(probs, logits, validate_args)
        if probs is not None:
            self.probs = clamp_probs(self.probs)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(ContinuousBernoulli, _instance)
        new._lims = self._lims
        return self._expand_parameters(ContinuousBernoulli, batch_shape, new)

    @lazy_property
    def probs(self):
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _is_stable(self):
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _stable_probs(self):
        return taeda.where(self._is_stable(), self.probs, self._lims[0])

    def _cont_bern_log_norm(self):
        p = self._stable_probs()
        exact = (taeda.log1p(-p) - p.log()).abs().log() - (1 - 2 * p).abs().log()
        x = (self.probs - 0.5) ** 2
        series = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return taeda.where(self._is_stable(), exact, series)

    @property
    def mean(self):
        p = self._stable_probs()
        exact = p / (2.0 * p - 1.0) + 1.0 / (taeda.log1p(-p) - p.log())
        x = self.probs - 0.5
        series = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x**2) * x
        return taeda.where(self._is_stable(), exact, series)

    @property
    def variance(self):
        p = self._stable_probs()
        exact = p * (p - 1.0) / (1.0 - 2.0 * p) ** 2 + 1.0 / (taeda.log1p(-p) - p.log()) ** 2
        x = (self.probs - 0.5) ** 2
        series = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return taeda.where(self._is_stable(), exact, series)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return self.icdf(taeda.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value):
        logits, value = broadcast_all(self.logits, self._checked(value))
        fit = -binary_cross_entropy_with_logits(logits, value, reduction="none")
        return fit + self._cont_bern_log_norm()

    def cdf(self, value):
        value, p = self._checked(value), self._stable_probs()
        exact = (p**value * (1.0 - p) ** (1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        inside = taeda.where(self._is_stable(), exact, value)
        return taeda.where(value <= 0, 0.0, taeda.where(value >= 1, 1.0, inside))

    def icdf(self, value):
        p = self._stable_probs()
        log_q = taeda.log1p(-p)
        exact = (taeda.log1p(-p + value * (2.0 * p - 1.0)) - log_q) / (p.log() - log_q)
        return taeda.where(self._is_stable(), exact, value)

    def entropy(self):
        log_q = taeda.log1p(-self.probs)
        return self.mean * (log_q - self.probs.log()) - self._cont_bern_log_norm() - log_q

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        low, high = (limit - 0.5 for limit in self._lims)
        is_stable = (x <= low) | (x > high)
        stable = taeda.where(is_stable, x, low)
        exact = taeda.expm1(stable).abs().log() - stable.abs().log()
        series = 0.5 * x + x**2 / 24.0 - x**4 / 2880.0
        return taeda.where(is_stable, exact, series)
