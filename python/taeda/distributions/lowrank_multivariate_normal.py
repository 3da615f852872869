"""The normal distribution of vectors whose covariance is a thin matrix squared plus a diagonal."""

import math

import taeda
from taeda.distributions import constraints
from taeda.distributions._covariance import (
    log_diagonal_sum,
    mahalanobis,
    matrix_times_vector,
    squared_length,
)
from taeda.distributions.distribution import Distribution
from taeda.distributions.utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


def _plus_identity(matrix):
    return matrix + taeda.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)


class LowRankMultivariateNormal(Distribution):
    """Mean `loc`, covariance W @ W.mT + D with W = `cov_factor` and the diagonal D = `cov_diag`.

    Inverse and determinant need the factor of C = I + W.mT @ D^-1 @ W alone, which has as many
    rows as W has columns: the inverse is D^-1 - D^-1 W C^-1 W.mT D^-1, the determinant that of C
    times that of D.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(
                f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m"
            )
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            batch_shape = taeda.broadcast_shapes(
                loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1]
            )
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, "
                f"cov_diag {cov_diag.shape}"
            ) from error
        self.loc = loc.expand(batch_shape + event_shape)
        self.cov_factor = cov_factor.expand(batch_shape + cov_factor.shape[-2:])
        self.cov_diag = cov_diag.expand(batch_shape + event_shape)
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = taeda.linalg.cholesky(
            _plus_identity(self._weighted_factor @ cov_factor)
        )
        super().__init__(batch_shape, event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(LowRankMultivariateNormal, _instance)
        batch_shape = taeda.Size(batch_shape)
        shape = batch_shape + self.event_shape
        new.loc = self.loc.expand(shape)
        new.cov_diag = self.cov_diag.expand(shape)
        new.cov_factor = self.cov_factor.expand(shape + self.cov_factor.shape[-1:])
        new._unbroadcasted_cov_factor = self._unbroadcasted_cov_factor
        new._unbroadcasted_cov_diag = self._unbroadcasted_cov_diag
        new._capacitance_tril = self._capacitance_tril
        return self._finish_expanding(new, batch_shape)

    @property
    def _weighted_factor(self):
        """W.mT @ D^-1."""
        return self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)

    @property
    def _inner_factor(self):
        """A with A.mT @ A = D^-1 W C^-1 W.mT D^-1."""
        return taeda.linalg.solve_triangular(
            self._capacitance_tril, self._weighted_factor, upper=False
        )

    @property
    def _log_determinant(self):
        diagonal = self._unbroadcasted_cov_diag.log().sum(-1)
        return 2 * log_diagonal_sum(self._capacitance_tril) + diagonal

    def _mahalanobis(self, x):
        inner = matrix_times_vector(self._weighted_factor, x)
        whole = (x.pow(2) / self._unbroadcasted_cov_diag).sum(-1)
        return whole - mahalanobis(self._capacitance_tril, inner)

    def _covariance_factors(self):
        """Matrices whose squares A @ A.mT add up to the covariance."""
        return self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag.sqrt().diag_embed()

    def _whitened_square(self, matrix):
        """The trace of the inverse covariance times A @ A.mT."""
        diagonal = squared_length(matrix * self._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1))
        return diagonal - squared_length(self._inner_factor @ matrix)

    def _matrices(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @lazy_property
    def variance(self):
        variance = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return variance.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        """By way of I + D^-1/2 W W.mT D^-1/2, whose eigenvalues are at least 1."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        thin = self._unbroadcasted_cov_factor / root
        return self._matrices(root * taeda.linalg.cholesky(_plus_identity(thin @ thin.mT)))

    @lazy_property
    def covariance_matrix(self):
        factor = self._unbroadcasted_cov_factor
        return self._matrices(factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed())

    @lazy_property
    def precision_matrix(self):
        inner = self._inner_factor
        diagonal = self._unbroadcasted_cov_diag.reciprocal().diag_embed()
        return self._matrices(diagonal - inner.mT @ inner)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        thin = shape[:-1] + self.cov_factor.shape[-1:]
        through_factor = _standard_normal(thin, self.loc.dtype, self.loc.device)
        through_diagonal = _standard_normal(shape, self.loc.dtype, self.loc.device)
        return (
            self.loc
            + matrix_times_vector(self._unbroadcasted_cov_factor, through_factor)
            + self._unbroadcasted_cov_diag.sqrt() * through_diagonal
        )

    def log_prob(self, value):
        distance = self._mahalanobis(self._checked(value) - self.loc)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + self._log_determinant + distance)

    def entropy(self):
        constant = self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (0.5 * (constant + self._log_determinant)).expand(self._batch_shape)
