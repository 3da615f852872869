"""Objects of classes with `__torch_dispatch__` that graphs make."""

from taeda import _C

__all__ = ["make_wrapper"]


def make_wrapper(*args, **kwargs):
    """Tensor._make_wrapper_subclass, as a node of a graph."""
    return _C.Tensor._make_wrapper_subclass(*args, **kwargs)
