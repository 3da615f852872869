"""The geometric distribution: failures before the first success."""

import taeda
from taeda.distributions import constraints
from taeda.distributions._probs_or_logits import ProbsOrLogits
from taeda.nn.functional import binary_cross_entropy_with_logits

__all__ = ["Geometric"]


class Geometric(ProbsOrLogits):
    """Each try succeeds with probability `probs`."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._set_probs_or_logits(probs, logits, validate_args)
        if self._validate_args and probs is not None:
            is_positive = self.probs > 0
            if not is_positive.all():
                raise ValueError(
                    f"Expected parameter probs "
                    f"({type(self.probs).__name__} of shape {tuple(self.probs.shape)}) "
                    f"of distribution {self!r} to be positive but found invalid values:\n"
                    f"{self.probs.detach()[~is_positive]}"
                )

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(Geometric, batch_shape, _instance)

    @property
    def mean(self):
        return 1.0 / self.probs - 1.0

    @property
    def mode(self):
        return taeda.zeros_like(self.probs)

    @property
    def variance(self):
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with taeda.no_grad():
            u = self.probs.new_empty(shape).uniform_(taeda.finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value):
        value = self._checked(value)
        return taeda.special.xlog1py(value, -self.probs) + self.probs.log()

    def entropy(self):
        both = binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return both / self.probs
