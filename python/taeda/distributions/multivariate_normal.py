"""The normal distribution of vectors."""

import math

import taeda
from taeda.distributions import constraints
from taeda.distributions._covariance import (
    Covariance,
    log_diagonal_sum,
    mahalanobis,
    matrix_times_vector,
    squared_length,
)
from taeda.distributions.distribution import Distribution
from taeda.distributions.utils import _standard_normal

__all__ = ["MultivariateNormal"]


class MultivariateNormal(Covariance, Distribution):
    """Mean `loc` and one of the covariance, its inverse or its lower triangular factor.

    The factor is the cheapest: all else is computed from it.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc,
        covariance_matrix=None,
        precision_matrix=None,
        scale_tril=None,
        validate_args=None,
    ):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        matrices = (covariance_matrix, precision_matrix, scale_tril)
        given = {n: m for n, m in zip(self._NAMES, matrices, strict=True) if m is not None}
        if len(given) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                "specified."
            )
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            subject = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(
                f"{subject} must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        batch_shape = taeda.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self._set_matrix(name, matrix, batch_shape)
        self.loc = loc.expand(batch_shape + (-1,))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._set_factor(name, matrix)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(MultivariateNormal, _instance)
        batch_shape = taeda.Size(batch_shape)
        new.loc = self.loc.expand(batch_shape + self.event_shape)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        self._expand_matrices(new, batch_shape)
        return self._finish_expanding(new, batch_shape)

    @property
    def _log_determinant(self):
        return 2 * log_diagonal_sum(self._unbroadcasted_scale_tril)

    def _mahalanobis(self, x):
        return mahalanobis(self._unbroadcasted_scale_tril, x)

    def _covariance_factors(self):
        """Matrices whose squares A @ A.mT add up to the covariance."""
        return (self._unbroadcasted_scale_tril,)

    def _whitened_square(self, matrix):
        """The trace of the inverse covariance times A @ A.mT."""
        factor = self._unbroadcasted_scale_tril
        return squared_length(taeda.linalg.solve_triangular(factor, matrix, upper=False))

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        variance = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return variance.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        noise = _standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + matrix_times_vector(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value):
        distance = self._mahalanobis(self._checked(value) - self.loc)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + distance) - 0.5 * self._log_determinant

    def entropy(self):
        constant = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (constant + 0.5 * self._log_determinant).expand(self._batch_shape)
