"""Mixtures of distributions of one family."""

import taeda
from taeda.distributions import constraints
from taeda.distributions.categorical import Categorical
from taeda.distributions.distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """The last batch dimension of the components is what the mixture chooses from."""

    arg_constraints = {}

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an "
                " instance of torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution need to be an "
                "instance of torch.distributions.Distribution"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        ours, theirs = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for a, b in zip(reversed(ours), reversed(theirs), strict=False):
            if a != 1 and b != 1 and a != b:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({ours}) is not "
                    f"compatible with `component_distribution.batch_shape`({theirs})"
                )
        count, batch = mixture_distribution._num_events, component_distribution.batch_shape
        if count != batch[-1]:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not "
                f"equal `component_distribution.batch_shape[-1]` ({batch[-1]})"
            )
        self._num_component = count
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(theirs, component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        batch_shape = taeda.Size(batch_shape)
        components = self._component_distribution.expand(batch_shape + (self._num_component,))
        new._component_distribution = components
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        return self._finish_expanding(new, batch_shape)

    @constraints.dependent_property
    def support(self):
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self):
        return self._mixture_distribution

    @property
    def component_distribution(self):
        return self._component_distribution

    def _pad(self, x):
        return x.unsqueeze(-1 - self._event_ndims)

    def _average(self, values):
        """The mean over the components."""
        probs = self._mixture_distribution.probs
        probs = probs.reshape(probs.shape + (1,) * self._event_ndims)
        return (probs * values).sum(-1 - self._event_ndims)

    @property
    def mean(self):
        return self._average(self._component_distribution.mean)

    @property
    def variance(self):
        inside = self._average(self._component_distribution.variance)
        between = (self._component_distribution.mean - self._pad(self.mean)).pow(2.0)
        return inside + self._average(between)

    def cdf(self, x):
        cdf = self._component_distribution.cdf(self._pad(x))
        return (cdf * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, x):
        by_component = self._component_distribution.log_prob(self._pad(self._checked(x)))
        weights = self._mixture_distribution.logits.log_softmax(-1)
        return taeda.logsumexp(by_component + weights, dim=-1)

    def sample(self, sample_shape=()):
        with taeda.no_grad():
            place = len(sample_shape) + len(self.batch_shape)
            chosen = self._mixture_distribution.sample(sample_shape)
            drawn = self._component_distribution.sample(sample_shape)
            chosen = chosen.reshape(chosen.shape + (1,) * (self._event_ndims + 1))
            chosen = chosen.expand(drawn.shape[:place] + (1,) + self.event_shape)
            return drawn.gather(place, chosen).squeeze(place)

    def __repr__(self):
        parts = f"{self._mixture_distribution},\n  {self._component_distribution}"
        return f"MixtureSameFamily(\n  {parts})"
