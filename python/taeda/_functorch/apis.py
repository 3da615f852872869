"""PyTorch's path of the public transforms."""

from taeda._functorch.eager_transforms import grad, grad_and_value
from taeda._functorch.vmap import vmap

__all__ = ["grad", "grad_and_value", "vmap"]
