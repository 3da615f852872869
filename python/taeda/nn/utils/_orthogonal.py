"""The module of the parametrization by orthogonal matrices."""

from enum import Enum, auto

from taeda import _C
from taeda._C import _linalg
from taeda._type_info import finfo
from taeda.autograd.grad_mode import no_grad
from taeda.nn.modules.module import Module


class _OrthMaps(Enum):
    """The maps from matrices to orthogonal ones."""

    matrix_exp = auto()
    cayley = auto()
    householder = auto()


def _is_orthogonal(matrix):
    """Whether the columns are orthonormal, up to rounding."""
    rows, columns = matrix.shape[-2:]
    identity = _C.eye(columns, dtype=matrix.dtype, device=matrix.device)
    atol = 10.0 * rows * finfo(matrix.dtype).eps
    return _C.allclose(matrix.mH @ matrix, identity, atol=atol)


def _make_orthogonal(matrix):
    """An orthogonal matrix that spans what the columns span."""
    factors, tau = _C.geqrf(matrix)
    result = _linalg.householder_product(factors, tau)
    return result * factors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """An orthogonal matrix of any matrix; with a base, of its distance from that.

    A matrix with more columns than rows is treated as its transpose.
    """

    def __init__(self, weight, orthogonal_map, *, use_trivialization=True):
        super().__init__()
        if weight.is_complex() and orthogonal_map == _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X):
        is_wide = X.size(-2) < X.size(-1)
        X = X.mT if is_wide else X
        if self.orthogonal_map == _OrthMaps.householder:
            result = self._reflected(X)
        else:
            result = self._rotated(X)
        if hasattr(self, "base"):
            result = self.base @ result
        return result.mT if is_wide else result

    def _reflected(self, X):
        """A product of reflections, one per column."""
        vectors = X.tril(diagonal=-1)
        tau = 2.0 / (1.0 + (vectors * vectors).sum(dim=-2))
        result = _linalg.householder_product(vectors, tau)
        return result * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    def _rotated(self, X):
        """The map of the skew-symmetric matrix that the lower triangle gives."""
        rows, columns = X.shape[-2:]
        X = X.tril()
        if rows != columns:
            zeros = X.new_zeros(rows, rows - columns).expand(*X.shape[:-2], -1, -1)
            X = _C.cat([X, zeros], dim=-1)
        skew = X - X.mH
        if self.orthogonal_map == _OrthMaps.matrix_exp:
            result = _C.matrix_exp(skew)
        else:
            identity = _C.eye(rows, dtype=skew.dtype, device=skew.device)
            result = _linalg.solve(identity - skew / 2, identity + skew / 2)
        return result[..., :columns]

    def right_inverse(self, Q):
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of "
                f"shape {Q.shape}."
            )
        with no_grad():
            is_wide = Q.size(-2) < Q.size(-1)
            matrix = Q.mT if is_wide else Q
            if hasattr(self, "base"):
                self.base = self._new_base(matrix)
                start = _C.zeros_like(Q)
                start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
                return start
            if self.orthogonal_map != _OrthMaps.householder:
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley "
                    "parametrizations when use_trivialization=False."
                )
            factors, tau = _C.geqrf(matrix)
            signs = factors.diagonal(dim1=-2, dim2=-1)
            signs.sign_()
            signs[tau == 0.0] *= -1
            return factors.mT if is_wide else factors

    def _new_base(self, matrix):
        rows, columns = matrix.shape[-2:]
        if rows == columns:
            return matrix.clone() if _is_orthogonal(matrix) else _make_orthogonal(matrix)
        # Any directions complete the columns to a square.
        shape = (*matrix.shape[:-2], rows, rows - columns)
        more = _C.randn(*shape, dtype=matrix.dtype, device=matrix.device)
        return _make_orthogonal(_C.cat([matrix, more], dim=-1))
