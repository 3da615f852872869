"""Distributions of a probability that is given as such or as a logit."""

import taeda
from taeda.distributions.distribution import Distribution
from taeda.distributions.utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits


class ProbsOrLogits(Distribution):
    """Keeps what was given of `probs` and `logits`; the other is computed when it is read."""

    def _set_probs_or_logits(self, probs, logits, validate_args, **others):
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        *rest, given = broadcast_all(*others.values(), given)
        for other, value in zip(others, rest, strict=True):
            setattr(self, other, value.type_as(given))
        setattr(self, name, given)
        Distribution.__init__(self, given.size(), validate_args=validate_args)

    @property
    def _param(self):
        given = self.__dict__
        return self.logits if "logits" in given else given["probs"]

    @lazy_property
    def logits(self):
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self):
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self):
        return self._param.size()

    def _new(self, *args, **kwargs):
        return taeda.empty(*args, **kwargs, dtype=self._param.dtype, device=self._param.device)
