"""Student's t distribution."""

import math

import taeda
from taeda.distributions import constraints
from taeda.distributions.chi2 import Chi2
from taeda.distributions.distribution import Distribution
from taeda.distributions.utils import _standard_normal

__all__ = ["StudentT"]


class StudentT(Distribution):
    """`df` degrees of freedom, moved by `loc` and stretched by `scale`."""

    arg_constraints = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self._set_parameters(validate_args, df=df, loc=loc, scale=scale)

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(StudentT, batch_shape, _instance)

    @property
    def mean(self):
        return taeda.where(self.df > 1, self.loc, math.nan)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        heavy = taeda.where(self.df > 1, math.inf, math.nan).to(self.df)
        finite = self.scale.pow(2) * self.df / (self.df - 2)
        return taeda.where(self.df > 2, finite, heavy)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        normal = _standard_normal(shape, self.df.dtype, self.df.device)
        spread = Chi2(self.df, validate_args=False).rsample(sample_shape) / self.df
        return self.loc + self.scale * normal * spread.rsqrt()

    def log_prob(self, value):
        deviation = (self._checked(value) - self.loc) / self.scale
        normalizer = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + taeda.lgamma(0.5 * self.df)
            - taeda.lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * taeda.log1p(deviation**2.0 / self.df) - normalizer

    def entropy(self):
        half, next_half = 0.5 * self.df, 0.5 * (self.df + 1)
        return (
            self.scale.log()
            + next_half * (taeda.digamma(next_half) - taeda.digamma(half))
            + 0.5 * self.df.log()
            + taeda.lgamma(half)
            + math.lgamma(0.5)
            - taeda.lgamma(next_half)
        )
