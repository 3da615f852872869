"""PyTorch's path of the public transforms."""

from taeda._functorch.derivatives import grad, grad_and_value
from taeda._functorch.vmap import vmap

__all__ = ["grad", "grad_and_value", "vmap"]
