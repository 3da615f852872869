"""Distributions with a covariance matrix: given itself, by its inverse or by its factor."""

import taeda
from taeda.distributions.utils import lazy_property


def matrix_times_vector(matrix, vector):
    """The product for each pair of a batch; batches broadcast."""
    return taeda.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def log_diagonal_sum(tril):
    """Half the logarithm of the determinant of L @ L.mT."""
    return tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def squared_length(matrix):
    """The trace of A @ A.mT."""
    return matrix.pow(2).sum((-2, -1))


def mahalanobis(tril, x):
    """x^T (L L^T)^-1 x; the batch of x ends with that of L.

    Draws in front of the batch become columns, so that each triangle is read once.
    """
    batch = x.shape[x.dim() - tril.dim() + 1 : -1]
    draws = x.shape[: x.dim() - 1 - len(batch)]
    columns = x.reshape((-1,) + batch + x.shape[-1:]).movedim(0, -1)
    lengths = taeda.linalg.solve_triangular(tril, columns, upper=False).pow(2).sum(-2)
    return lengths.movedim(-1, 0).reshape(draws + lengths.shape[:-1])


def precision_to_scale_tril(precision):
    """L of the inverse: with rows and columns in reverse, the factor of P becomes that of P^-1."""
    flipped = taeda.linalg.cholesky(precision.flip((-2, -1))).flip((-2, -1)).mT
    identity = taeda.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return taeda.linalg.solve_triangular(flipped, identity, upper=False)


class Covariance:
    """One of three matrices is given, as an attribute of its name; the others follow when read.

    All work is done with `_unbroadcasted_scale_tril`, the factor of the matrix as it was given.
    """

    _NAMES = ("covariance_matrix", "precision_matrix", "scale_tril")

    @property
    def _matrix_shape(self):
        return self._batch_shape + self._event_shape[-1:] + self._event_shape[-1:]

    def _set_matrix(self, name, matrix, batch_shape):
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))

    def _set_factor(self, name, matrix):
        """After the matrix is found to be positive definite."""
        if name == "covariance_matrix":
            matrix = taeda.linalg.cholesky(matrix)
        elif name == "precision_matrix":
            matrix = precision_to_scale_tril(matrix)
        self._unbroadcasted_scale_tril = matrix

    def _expand_matrices(self, new, batch_shape):
        """Those that are given or were read before."""
        n = self._event_shape[-1]
        for name in self._NAMES:
            if name in self.__dict__:
                setattr(new, name, getattr(self, name).expand(batch_shape + (n, n)))

    @lazy_property
    def scale_tril(self):
        return self._unbroadcasted_scale_tril.expand(self._matrix_shape)

    @lazy_property
    def covariance_matrix(self):
        factor = self._unbroadcasted_scale_tril
        return (factor @ factor.mT).expand(self._matrix_shape)

    @lazy_property
    def precision_matrix(self):
        return taeda.cholesky_inverse(self._unbroadcasted_scale_tril).expand(self._matrix_shape)
