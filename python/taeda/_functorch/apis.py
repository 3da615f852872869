"""PyTorch's path of transforms that are in `taeda.func`."""

from taeda.func.batching import chunk_vmap, vmap
from taeda.func.derivatives import grad, grad_and_value

__all__ = ["chunk_vmap", "grad", "grad_and_value", "vmap"]
