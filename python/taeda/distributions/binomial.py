"""The binomial distribution: successes of several tries."""

import taeda
from taeda.distributions import constraints
from taeda.distributions._probs_or_logits import ProbsOrLogits
from taeda.nn import functional as F

__all__ = ["Binomial"]


class Binomial(ProbsOrLogits):
    """Successes of `total_count` tries of probability `probs`."""

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        self._set_probs_or_logits(probs, logits, validate_args, total_count=total_count)

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(Binomial, batch_shape, _instance)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self):
        return self.total_count * self.probs

    @property
    def mode(self):
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with taeda.no_grad():
            return taeda.binomial(
                self.total_count.to(self.probs.dtype).expand(shape), self.probs.expand(shape)
            )

    def log_prob(self, value):
        value = self._checked(value)
        ways = (
            taeda.lgamma(self.total_count + 1)
            - taeda.lgamma(value + 1)
            - taeda.lgamma(self.total_count - value + 1)
        )
        return ways + value * self.logits - self.total_count * F.softplus(self.logits)

    def _same_count(self, name):
        count = int(self.total_count.max())
        if self.total_count.min() != count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{name}`.")
        return count

    def entropy(self):
        self._same_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(taeda.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand=True):
        count = self._same_count("enumerate_support")
        values = taeda.arange(1 + count, dtype=self._param.dtype, device=self._param.device)
        return self._enumerated(values, expand)
