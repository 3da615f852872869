"""The multinomial distribution: how often each of several outcomes happens."""

import math

import taeda
from taeda.distributions import constraints
from taeda.distributions.binomial import Binomial
from taeda.distributions.categorical import Categorical
from taeda.distributions.distribution import Distribution
from taeda.distributions.utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """Counts of the outcomes of `total_count` categorical variables."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count, probs=self.probs)  # refuses a negative count
        super().__init__(
            self._categorical.batch_shape,
            self._categorical.param_shape[-1:],
            validate_args=validate_args,
        )

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Multinomial, _instance)
        new.total_count = self.total_count
        new._categorical = self._categorical.expand(batch_shape)
        new._binomial = Binomial(self.total_count, probs=new._categorical.probs)
        return self._finish_expanding(new, taeda.Size(batch_shape))

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        return constraints.multinomial(self.total_count)

    @property
    def logits(self):
        return self._categorical.logits

    @property
    def probs(self):
        return self._categorical.probs

    @property
    def param_shape(self):
        return self._categorical.param_shape

    @property
    def mean(self):
        return self.probs * self.total_count

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        drawn = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        counts = drawn.new_zeros(self._extended_shape(sample_shape))
        counts.scatter_add_(-1, drawn, taeda.ones_like(drawn))
        return counts.type_as(self.probs)

    def entropy(self):
        count = taeda.tensor(self.total_count)
        support = self._binomial.enumerate_support(expand=False)[1:]
        repeats = (self._binomial.log_prob(support).exp() * taeda.lgamma(support + 1)).sum([0, -1])
        return count * self._categorical.entropy() - taeda.lgamma(count + 1) + repeats

    def log_prob(self, value):
        logits, value = broadcast_all(self.logits, self._checked(value))
        logits = taeda.where((value == 0) & (logits == -math.inf), 0.0, logits)
        ways = taeda.lgamma(value.sum(-1) + 1) - taeda.lgamma(value + 1).sum(-1)
        return ways + (logits * value).sum(-1)
