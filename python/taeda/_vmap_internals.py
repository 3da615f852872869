"""PyTorch's import path of its first vmap, by the one of `taeda.func`."""

from taeda.func import vmap

__all__ = ["vmap"]


def _vmap(func, in_dims=0, out_dims=0):
    """`func` over a batch; random operators raise."""
    return vmap(func, in_dims, out_dims)
