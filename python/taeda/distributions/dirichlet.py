"""The Dirichlet distribution: probabilities of several outcomes."""

import taeda
from taeda.distributions import constraints
from taeda.distributions.exp_family import ExponentialFamily
from taeda.nn import functional as F

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """The last dimension of `concentration` counts the outcomes."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration, validate_args=None):
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(
            concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args
        )

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Dirichlet, _instance)
        batch_shape = taeda.Size(batch_shape)
        new.concentration = self.concentration.expand(batch_shape + self.event_shape)
        return self._finish_expanding(new, batch_shape)

    def rsample(self, sample_shape=()):
        """Gamma variables over their sum."""
        return taeda._sample_dirichlet(
            self.concentration.expand(self._extended_shape(sample_shape))
        )

    def log_prob(self, value):
        value = self._checked(value)
        return (
            taeda.xlogy(self.concentration - 1.0, value).sum(-1)
            + taeda.lgamma(self.concentration.sum(-1))
            - taeda.lgamma(self.concentration).sum(-1)
        )

    @property
    def mean(self):
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    @property
    def mode(self):
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, keepdim=True)
        corner = F.one_hot(mode.argmax(-1), above.shape[-1]).to(mode)
        return taeda.where((self.concentration < 1).all(-1, keepdim=True), corner, mode)

    @property
    def variance(self):
        total = self.concentration.sum(-1, keepdim=True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self):
        count, total = self.concentration.size(-1), self.concentration.sum(-1)
        return (
            taeda.lgamma(self.concentration).sum(-1)
            - taeda.lgamma(total)
            - (count - total) * taeda.digamma(total)
            - ((self.concentration - 1.0) * taeda.digamma(self.concentration)).sum(-1)
        )

    @property
    def _natural_params(self):
        return (self.concentration,)

    def _log_normalizer(self, x):
        return x.lgamma().sum(-1) - taeda.lgamma(x.sum(-1))
