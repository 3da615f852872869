"""The modules of the parametrizations weight_norm and spectral_norm."""

from taeda import _C
from taeda.autograd.grad_mode import no_grad
from taeda.nn import functional as F
from taeda.nn._operators import _C as _operators
from taeda.nn._operators import name_missing_operators
from taeda.nn.modules.module import Module


def norm_except_dim(weight, dim):
    """The length of each slice along `dim`; -1: of the whole."""
    return _operators.norm_except_dim(weight, 2, dim)


def with_norm(direction, length, dim):
    """The direction scaled to the length."""
    return _operators._weight_norm(direction, length, dim)


def as_matrix(weight, dim):
    """The tensor as a matrix whose rows are the slices along `dim`."""
    if dim != 0:
        weight = weight.permute(dim, *(d for d in range(weight.dim()) if d != dim))
    return weight.reshape(weight.size(0), -1)


class _WeightNorm(Module):
    """A tensor from a length and a direction."""

    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return with_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight):
        return norm_except_dim(weight, self.dim), weight


class _SpectralNorm(Module):
    """A tensor over its largest singular value; buffers hold estimates of its vectors."""

    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(
                "Dimension out of range (expected to be in range of "
                f"[-{ndim}, {ndim - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight, self.dim)
            u, v = (matrix.new_empty(size).normal_(0, 1) for size in matrix.size())
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            # Close to the vectors from the first call on.
            self._power_method(matrix, 15)

    def _power_method(self, matrix, n_power_iterations):
        with no_grad():
            for _ in range(n_power_iterations):
                self._u = F.normalize(_C.mv(matrix, self._v), dim=0, eps=self.eps, out=self._u)
                self._v = F.normalize(_C.mv(matrix.H, self._u), dim=0, eps=self.eps, out=self._v)

    def forward(self, weight):
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # Copies, since a later call in training writes to the buffers that backward needs.
        u, v = self._u.clone(), self._v.clone()
        return weight / _C.vdot(u, _C.mv(matrix, v))

    def right_inverse(self, value):
        return value


name_missing_operators(globals())
