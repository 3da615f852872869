"""The Wishart distribution: sums of squares of normal vectors, which are matrices."""

import math
import warnings

import taeda
from taeda.distributions import constraints
from taeda.distributions._covariance import Covariance, log_diagonal_sum
from taeda.distributions.chi2 import Chi2
from taeda.distributions.exp_family import ExponentialFamily
from taeda.distributions.utils import is_number

__all__ = ["Wishart"]


def _multivariate_digamma(x, p):
    """The derivative of mvlgamma."""
    halves = taeda.arange(p, dtype=x.dtype, device=x.device) / 2
    return taeda.digamma(x.unsqueeze(-1) - halves).sum(-1)


class Wishart(Covariance, ExponentialFamily):
    """`df` degrees of freedom and one of the covariance, its inverse or its factor."""

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self):
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self,
        df,
        covariance_matrix=None,
        precision_matrix=None,
        scale_tril=None,
        validate_args=None,
    ):
        matrices = (covariance_matrix, precision_matrix, scale_tril)
        given = {n: m for n, m in zip(self._NAMES, matrices, strict=True) if m is not None}
        if len(given) != 1:
            raise AssertionError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                "specified."
            )
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError(
                "scale_tril must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        n = matrix.shape[-1]
        if is_number(df):
            batch_shape = matrix.shape[:-2]
            self.df = taeda.tensor(df, dtype=matrix.dtype, device=matrix.device)
        else:
            batch_shape = taeda.broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        if self.df.le(n - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        self._set_matrix(name, matrix, batch_shape)
        if self.df.lt(n).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for "
                "ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        super().__init__(batch_shape, matrix.shape[-2:], validate_args=validate_args)
        self._set_factor(name, matrix)
        self._dist_chi2 = self._squares()

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Wishart, _instance)
        batch_shape = taeda.Size(batch_shape)
        shape = batch_shape + self.event_shape
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril.expand(shape)
        new.df = self.df.expand(batch_shape)
        self._expand_matrices(new, batch_shape)
        self._finish_expanding(new, batch_shape)
        new._dist_chi2 = new._squares()
        return new

    def _squares(self):
        """The squares on the diagonal of a draw's factor, one degree of freedom less per row."""
        factor = self._unbroadcasted_scale_tril
        less = taeda.arange(self._event_shape[-1], dtype=factor.dtype, device=factor.device)
        return Chi2(self.df.unsqueeze(-1) - less.expand(self._batch_shape + (-1,)))

    @property
    def _df_of_matrices(self):
        return self.df.expand(self._batch_shape)[..., None, None]

    @property
    def mean(self):
        return self._df_of_matrices * self.covariance_matrix

    @property
    def mode(self):
        factor = self._df_of_matrices - self._event_shape[-1] - 1
        return taeda.where(factor <= 0, math.nan, factor) * self.covariance_matrix

    @property
    def variance(self):
        diagonal = self.covariance_matrix.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self._df_of_matrices * (self.covariance_matrix.pow(2) + products)

    def _draw(self, sample_shape):
        """By Bartlett's factor: roots of squares on the diagonal, normal numbers below it."""
        roots = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = roots.clamp(min=taeda.finfo(roots.dtype).eps).diag_embed()
        n = self._event_shape[-1]
        below = taeda.randn(
            tuple(sample_shape) + self._batch_shape + (n * (n - 1) // 2,),
            dtype=noise.dtype,
            device=noise.device,
        )
        i, j = taeda.tril_indices(n, n, offset=-1)
        noise[..., i, j] = below
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def _has_singular(self, draws):
        """Of each draw of the batch: whether one of its matrices is singular."""
        is_singular = ~self.support.check(draws)
        batch = tuple(range(-len(self._batch_shape), 0))
        return is_singular.amax(batch) if batch else is_singular

    def rsample(self, sample_shape=(), max_try_correction=None):
        """Draws that are singular by rounding are drawn again, at most `max_try_correction` times.

        10 times unless the argument says otherwise; what is left after that is singular.
        """
        sample_shape = taeda.Size(sample_shape)
        draws = self._draw(sample_shape)
        is_singular = self._has_singular(draws)
        if not is_singular.any():
            return draws
        warnings.warn("Singular sample detected.", stacklevel=2)
        for _ in range(10 if max_try_correction is None else max_try_correction):
            again = self._draw(is_singular[is_singular].shape)
            draws[is_singular] = again
            is_singular[is_singular.clone()] = self._has_singular(again)
            if not is_singular.any():
                break
        return draws

    def log_prob(self, value):
        value, df, n = self._checked(value), self.df, self._event_shape[-1]
        factor = self._unbroadcasted_scale_tril
        trace = taeda.cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (
            -df * (n * math.log(2) / 2 + log_diagonal_sum(factor))
            - taeda.mvlgamma(df / 2, p=n)
            + (df - n - 1) / 2 * taeda.linalg.slogdet(value).logabsdet
            - trace / 2
        )

    def entropy(self):
        df, n = self.df, self._event_shape[-1]
        half_log_det = log_diagonal_sum(self._unbroadcasted_scale_tril)
        return (
            (n + 1) * (n * math.log(2) / 2 + half_log_det)
            + taeda.mvlgamma(df / 2, p=n)
            - (df - n - 1) / 2 * _multivariate_digamma(df / 2, n)
            + df * n / 2
        )

    @property
    def _natural_params(self):
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x, y):
        n = self._event_shape[-1]
        half_df = y + (n + 1) / 2
        log_det = taeda.linalg.slogdet(-2 * x).logabsdet
        return half_df * (n * math.log(2) - log_det) + taeda.mvlgamma(half_df, p=n)
