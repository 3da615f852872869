"""Functions whose arguments take more shapes than an operator's schema can say."""

from taeda import _C
from taeda._C import Tensor, broadcast_shapes
from taeda._shape_functions import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_tensors,
    cartesian_prod,
    meshgrid,
    split,
)
from taeda._value_functions import (
    block_diag,
    chain_matmul,
    norm,
    unique,
    unique_consecutive,
    unravel_index,
)
from taeda.overrides import handle_torch_function, has_torch_function, has_torch_function_variadic

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "broadcast_shapes",
    "broadcast_tensors",
    "cartesian_prod",
    "cdist",
    "chain_matmul",
    "einsum",
    "meshgrid",
    "norm",
    "split",
    "tensordot",
    "unique",
    "unique_consecutive",
    "unravel_index",
]


_DISTANCE_MODES = {
    "use_mm_for_euclid_dist_if_necessary": None,
    "use_mm_for_euclid_dist": 1,
    "donot_use_mm_for_euclid_dist": 2,
}


def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The `p`-norm of the difference of each row of `x1` and each of `x2`."""
    if has_torch_function_variadic(x1, x2):
        return handle_torch_function(cdist, (x1, x2), x1, x2, p=p, compute_mode=compute_mode)
    if compute_mode not in _DISTANCE_MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return _C.cdist(x1, x2, p, _DISTANCE_MODES[compute_mode])


def einsum(*args):
    """Sums of products: einsum(equation, *operands) or einsum(op1, sublist1, ..., [out])."""
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one "
            "operand and its subscripts list"
        )
    if isinstance(args[0], Tensor):
        equation = ",".join(_subscripts(s) for s in args[1::2])
        if len(args) % 2 == 1:
            equation = ",".join(_subscripts(s) for s in args[1:-1:2]) + "->" + _subscripts(args[-1])
            operands = args[:-1:2]
        else:
            operands = args[::2]
    else:
        equation, *operands = args
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        return einsum(equation, *operands[0])
    if has_torch_function(operands):
        return handle_torch_function(einsum, operands, equation, *operands)
    return _C.einsum(equation, list(operands))


def _subscripts(sublist):
    return "".join("..." if s is Ellipsis else _label(s) for s in sublist)


def _label(n):
    if 0 <= n < 26:
        return chr(ord("A") + n)
    if 26 <= n < 52:
        return chr(ord("a") + n - 26)
    raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")


def tensordot(a, b, dims=2, out=None):
    """Sums products over the last `dims` dimensions of `a` and the first of `b`, or over pairs."""
    if has_torch_function_variadic(a, b):
        return handle_torch_function(tensordot, (a, b), a, b, dims=dims, out=out)
    if isinstance(dims, Tensor):
        if dims.numel() > 1:
            dims_a, dims_b = dims[0].tolist(), dims[1].tolist()
        else:
            return tensordot(a, b, int(dims.item()), out)
    elif isinstance(dims, (list, tuple)):
        dims_a, dims_b = (list(d) if isinstance(d, (list, tuple)) else [d] for d in dims)
    else:
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims_a, dims_b = list(range(-dims, 0)), list(range(dims))
    if out is None:
        return _C.tensordot(a, b, dims_a, dims_b)
    return _C.tensordot(a, b, dims_a, dims_b, out=out)
