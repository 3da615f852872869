"""The negative binomial distribution: successes before a number of failures."""

import taeda
from taeda.distributions import constraints
from taeda.distributions._probs_or_logits import ProbsOrLogits
from taeda.distributions.gamma import Gamma
from taeda.nn import functional as F

__all__ = ["NegativeBinomial"]


class NegativeBinomial(ProbsOrLogits):
    """Successes of probability `probs` before `total_count` failures, which may be no integer."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        self._set_probs_or_logits(probs, logits, validate_args, total_count=total_count)

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(NegativeBinomial, batch_shape, _instance)

    @property
    def mean(self):
        return self.total_count * self.logits.exp()

    @property
    def mode(self):
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self):
        return self.mean / taeda.sigmoid(-self.logits)

    def sample(self, sample_shape=()):
        """Poisson variables whose rates are gamma variables."""
        with taeda.no_grad():
            rates = Gamma(self.total_count, (-self.logits).exp(), validate_args=False)
            return taeda.poisson(rates.sample(sample_shape))

    def log_prob(self, value):
        value = self._checked(value)
        by_tries = self.total_count * F.logsigmoid(-self.logits) + value * F.logsigmoid(self.logits)
        together = self.total_count + value
        ways = taeda.lgamma(together) - taeda.lgamma(1.0 + value) - taeda.lgamma(self.total_count)
        return by_tries + ways.masked_fill(together == 0.0, 0.0)
