"""PyTorch's path of vmap, which is in `taeda.func.batching`."""

from taeda.func.batching import vmap, vmap_impl

__all__ = ["vmap", "vmap_impl"]
