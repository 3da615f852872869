"""The F distribution: the ratio of two chi-squared variables."""

import math

import taeda
from taeda.distributions import constraints
from taeda.distributions.distribution import Distribution
from taeda.distributions.gamma import Gamma

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """Degrees of freedom `df1` above and `df2` below."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1, df2, validate_args=None):
        self._set_parameters(validate_args, df1=df1, df2=df2)

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(FisherSnedecor, batch_shape, _instance)

    @property
    def mean(self):
        return taeda.where(self.df2 > 2, self.df2 / (self.df2 - 2), math.nan)

    @property
    def mode(self):
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return taeda.where(self.df1 > 2, mode, math.nan)

    @property
    def variance(self):
        above = 2 * self.df2.pow(2) * (self.df1 + self.df2 - 2)
        below = self.df1 * (self.df2 - 2).pow(2) * (self.df2 - 4)
        return taeda.where(self.df2 > 4, above / below, math.nan)

    def rsample(self, sample_shape=()):
        above, below = (
            Gamma(df * 0.5, df, validate_args=False).rsample(sample_shape)
            for df in (self.df1, self.df2)
        )
        return (above / below).clamp(min=taeda.finfo(above.dtype).tiny)

    def log_prob(self, value):
        value = self._checked(value)
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        return (
            (half1 + half2).lgamma()
            - half1.lgamma()
            - half2.lgamma()
            + half1 * ratio.log()
            + (half1 - 1) * value.log()
            - (half1 + half2) * taeda.log1p(ratio * value)
        )
