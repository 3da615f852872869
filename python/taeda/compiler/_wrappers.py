"""Objects of classes with `__torch_dispatch__` that graphs make and take."""

from taeda import _C
from taeda.utils._wrapper_subclass import is_traceable_wrapper_subclass_type

__all__ = ["make_wrapper", "take_apart"]


def make_wrapper(*args, **kwargs):
    """Tensor._make_wrapper_subclass, as a node of a graph."""
    return _C.Tensor._make_wrapper_subclass(*args, **kwargs)


def take_apart(tensor):
    """A wrapper as (class, names, context, parts, size, strides); the tensor itself if it is none.

    Parts are tensors, or such tuples. Captures evaluate it.
    """
    kind = type(tensor)
    if not is_traceable_wrapper_subclass_type(kind):
        return tensor
    names, context = tensor.__tensor_flatten__()
    parts = [take_apart(getattr(tensor, name)) for name in names]
    return kind, tuple(names), context, tuple(parts), tuple(tensor.size()), tensor.stride()
