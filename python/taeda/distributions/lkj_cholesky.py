"""Factors of correlation matrices, by their determinants."""

import math

import taeda
from taeda.distributions import constraints
from taeda.distributions.beta import Beta
from taeda.distributions.distribution import Distribution
from taeda.distributions.utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Lower Cholesky factors of correlation matrices of `dim` rows.

    The density of the matrix goes with its determinant to the power of `concentration` - 1: at 1
    all matrices are alike, above it those near the identity are likelier.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # The squared length of row i below the diagonal; the first row has none.
        options = {"dtype": self.concentration.dtype, "device": self.concentration.device}
        half = 0.5 * taeda.arange(-1, dim - 1, **options).clamp(min=0)
        most = (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1)
        self._beta = Beta(half + 0.5, most - half)
        super().__init__(self.concentration.size(), (dim, dim), validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(LKJCholesky, _instance)
        batch_shape = taeda.Size(batch_shape)
        new.dim = self.dim
        new.concentration = self.concentration.expand(batch_shape)
        new._beta = self._beta.expand(batch_shape + (self.dim,))
        return self._finish_expanding(new, batch_shape)

    def sample(self, sample_shape=()):
        """Each row points anywhere on a sphere; its length below the diagonal leaves the rest."""
        with taeda.no_grad():
            square = self._beta.sample(sample_shape).unsqueeze(-1)
            shape = self._extended_shape(sample_shape)
            below = taeda.randn(shape, dtype=square.dtype, device=square.device).tril(-1)
            direction = below / below.norm(dim=-1, keepdim=True)
            direction[..., 0, :] = 0.0  # no length
            rows = square.sqrt() * direction
            rest = (1 - rows.pow(2).sum(-1)).clamp(min=taeda.finfo(rows.dtype).tiny)
            return rows + rest.sqrt().diag_embed()

    def log_prob(self, value):
        diagonal = self._checked(value).diagonal(dim1=-1, dim2=-2)[..., 1:]
        row = taeda.arange(2, self.dim + 1, device=self.concentration.device)
        power = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - row
        count = self.dim - 1
        alpha = self.concentration + 0.5 * count
        normalizer = (
            0.5 * count * math.log(math.pi)
            + taeda.mvlgamma(alpha - 0.5, count)
            - taeda.lgamma(alpha) * count
        )
        return (power * diagonal.log()).sum(-1) - normalizer
