"""What distributions share: parameters of one shape, probabilities and logits, lazy attributes."""

import functools

import taeda
from taeda.nn import functional as F
from taeda.overrides import is_tensor_like

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060


def is_number(value):
    return isinstance(value, (bool, int, float))


def broadcast_all(*values):
    """The values as tensors of one shape; numbers take the first tensor's dtype and device."""
    if not all(is_tensor_like(value) or is_number(value) for value in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects "
            "implementing __torch_function__."
        )
    first = next((value for value in values if isinstance(value, taeda.Tensor)), None)
    options = {"dtype": taeda.get_default_dtype()}
    if first is not None:
        options = {"dtype": first.dtype, "device": first.device}
    tensors = [
        value if is_tensor_like(value) else taeda.tensor(value, **options) for value in values
    ]
    return taeda.broadcast_tensors(*tensors)


def _standard_normal(shape, dtype, device):
    return taeda.empty(shape, dtype=dtype, device=device).normal_()


def _sum_rightmost(value, dim):
    """The sum over the last `dim` dimensions."""
    return value if dim == 0 else value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


def logits_to_probs(logits, is_binary=False):
    return taeda.sigmoid(logits) if is_binary else F.softmax(logits, dim=-1)


def clamp_probs(probs):
    eps = taeda.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs, is_binary=False):
    clamped = clamp_probs(probs)
    logits = taeda.log(clamped)
    return logits - taeda.log1p(-clamped) if is_binary else logits


class lazy_property:
    """An attribute that is computed when it is first read, and kept."""

    def __init__(self, wrapped):
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        with taeda.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def _below_diagonal(n, diag, device):
    places = taeda.arange(n, device=device)
    return places < places.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat, diag=0):
    """The elements on and below a diagonal, row by row."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _below_diagonal(n, diag, mat.device)]


def vec_to_tril_matrix(vec, diag=0):
    """The matrix of which `tril_matrix_to_vec` gives the vector."""
    count = vec.shape[-1]
    slope = 1 + 2 * diag
    n = (-slope + (slope**2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if round(n) - n > taeda.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as "
            "the lower triangular part of a square D x D matrix."
        )
    n = round(n)
    mat = vec.new_zeros(vec.shape[:-1] + (n, n))
    mat[..., _below_diagonal(n, diag, vec.device)] = vec
    return mat
