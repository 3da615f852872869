"""Functions on several tensors that PyTorch calls with the tensors as separate arguments."""

from taeda import _C
from taeda.overrides import handle_torch_function, has_torch_function, has_torch_function_unary


def _unpacked(tensors):
    """The tensors of a call, given one by one or as one sequence."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        return tuple(tensors[0])
    return tensors


def broadcast_tensors(*tensors):
    """Views of the tensors, expanded to their common shape."""
    if has_torch_function(tensors):
        return handle_torch_function(broadcast_tensors, tensors, *tensors)
    return tuple(_C.broadcast_tensors(_unpacked(tensors)))


def _atleast(function, tensors):
    if len(tensors) == 1 and isinstance(tensors[0], _C.Tensor):
        return function(tensors[0])
    return tuple(function(_unpacked(tensors)))


def atleast_1d(*tensors):
    """The tensors with at least one dimension each."""
    if has_torch_function(tensors):
        return handle_torch_function(atleast_1d, tensors, *tensors)
    return _atleast(_C.atleast_1d, tensors)


def atleast_2d(*tensors):
    """The tensors with at least two dimensions each."""
    if has_torch_function(tensors):
        return handle_torch_function(atleast_2d, tensors, *tensors)
    return _atleast(_C.atleast_2d, tensors)


def atleast_3d(*tensors):
    """The tensors with at least three dimensions each."""
    if has_torch_function(tensors):
        return handle_torch_function(atleast_3d, tensors, *tensors)
    return _atleast(_C.atleast_3d, tensors)


def meshgrid(*tensors, indexing=None):
    """Grids of coordinates from vectors, in `ij` (the default) or `xy` order."""
    if has_torch_function(tensors):
        return handle_torch_function(meshgrid, tensors, *tensors, indexing=indexing)
    tensors = _unpacked(tensors)
    if indexing is None:
        return tuple(_C.meshgrid(tensors))
    return tuple(_C.meshgrid(tensors, indexing=indexing))


def split(tensor, split_size_or_sections, dim=0):
    """Parts along `dim`: of one size, or of the sizes in a list."""
    if has_torch_function_unary(tensor):
        return handle_torch_function(split, (tensor,), tensor, split_size_or_sections, dim=dim)
    return tensor.split(split_size_or_sections, dim)


def cartesian_prod(*tensors):
    """Every combination of one element from each vector, as rows."""
    if has_torch_function(tensors):
        return handle_torch_function(cartesian_prod, tensors, *tensors)
    for tensor in tensors:
        if tensor.dim() != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(tensor.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    grids = _C.meshgrid(tensors, indexing="ij")
    return _C.stack([grid.flatten() for grid in grids], 1)
