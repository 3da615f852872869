"""PyTorch's path of small functions that its users and tests share."""

from taeda.compiler import is_compiling

__all__ = ["is_compiling"]


def _element_size(dtype):
    """The bytes of one element."""
    return dtype.itemsize
