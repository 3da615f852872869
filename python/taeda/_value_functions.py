"""Functions whose Python form takes more than an operator's schema can say: norms by name, results
that depend on flags, matrices as separate arguments."""

from collections.abc import Sequence

from taeda import _C
from taeda._C import _linalg
from taeda._shape_functions import _unpacked
from taeda.overrides import handle_torch_function, has_torch_function, has_torch_function_unary


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """The norm of order `p` of the elements along `dim`, or of matrices where `p` is a name."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            norm, (input,), input, p=p, dim=dim, keepdim=keepdim, out=out, dtype=dtype
        )
    dims = [dim] if isinstance(dim, (int, _C.SymInt)) else dim
    if isinstance(p, str) and not (p == "fro" and (dims is None or len(dims) <= 2)):
        dims = list(range(input.dim())) if dims is None else dims
        return _linalg.matrix_norm(input, p, dims, keepdim, dtype=dtype, out=out)
    order = 2 if p is None or p == "fro" else p
    return _linalg.vector_norm(input, order, dims, keepdim, dtype=dtype, out=out)


def norm_method(self, p="fro", dim=None, keepdim=False, dtype=None):
    """The norm of order `p` of the elements along `dim`."""
    if has_torch_function_unary(self):
        return handle_torch_function(
            _C.Tensor.norm, (self,), self, p=p, dim=dim, keepdim=keepdim, dtype=dtype
        )
    return norm(self, p, dim, keepdim, dtype=dtype)


def _asked(results, return_inverse, return_counts):
    """Of distinct elements, their places and their counts what the caller wants."""
    output, inverse, counts = results
    wanted = [output]
    if return_inverse:
        wanted.append(inverse)
    if return_counts:
        wanted.append(counts)
    return output if len(wanted) == 1 else tuple(wanted)


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The distinct elements, or slices along `dim`, in order."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            unique,
            (input,),
            input,
            sorted=sorted,
            return_inverse=return_inverse,
            return_counts=return_counts,
            dim=dim,
        )
    if dim is None:
        results = _C._unique2(input, sorted, return_inverse, return_counts)
    else:
        results = _C.unique_dim(input, dim, sorted, return_inverse, return_counts)
    return _asked(results, return_inverse, return_counts)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements, or slices along `dim`, that differ from the one before."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            unique_consecutive,
            (input,),
            input,
            return_inverse=return_inverse,
            return_counts=return_counts,
            dim=dim,
        )
    results = _C.unique_consecutive(input, return_inverse, return_counts, dim)
    return _asked(results, return_inverse, return_counts)


def unique_method(self, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The distinct elements, or slices along `dim`, in order."""
    if has_torch_function_unary(self):
        return handle_torch_function(
            _C.Tensor.unique,
            (self,),
            self,
            sorted=sorted,
            return_inverse=return_inverse,
            return_counts=return_counts,
            dim=dim,
        )
    return unique(self, sorted, return_inverse, return_counts, dim)


def unique_consecutive_method(self, return_inverse=False, return_counts=False, dim=None):
    """The elements, or slices along `dim`, that differ from the one before."""
    if has_torch_function_unary(self):
        return handle_torch_function(
            _C.Tensor.unique_consecutive,
            (self,),
            self,
            return_inverse=return_inverse,
            return_counts=return_counts,
            dim=dim,
        )
    return unique_consecutive(self, return_inverse, return_counts, dim)


def block_diag(*tensors):
    """A matrix with the given ones along its diagonal and zeros elsewhere."""
    if has_torch_function(tensors):
        return handle_torch_function(block_diag, tensors, *tensors)
    return _C.block_diag(tensors)


def unravel_index(indices, shape):
    """The coordinates in a tensor of a shape, per dimension, of places in its flat form."""
    if has_torch_function_unary(indices):
        return handle_torch_function(unravel_index, (indices,), indices, shape=shape)
    if indices.is_complex() or indices.is_floating_point() or indices.dtype == _C.bool:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, _C.SymInt, Sequence)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    for size in sizes:
        if not isinstance(size, (int, _C.SymInt)):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(size)}")
    if any(size < 0 for size in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    rest, places = indices.to(_C.int64), []
    for size in reversed(sizes):
        places.append(rest % size)
        rest = rest.floor_divide(size)
    return tuple(reversed(places))


def chain_matmul(*matrices, out=None):
    """The product of several matrices."""
    if has_torch_function(matrices):
        return handle_torch_function(chain_matmul, matrices, *matrices)
    return _C.chain_matmul(_unpacked(matrices), out=out)
