"""PyTorch's path of the transforms that take derivatives or remove writes."""

from taeda._functorch.derivatives import grad, grad_and_value, jvp, linearize, vjp
from taeda._functorch.functionalize import functionalize
from taeda._functorch.jacobians import hessian, jacfwd, jacrev

__all__ = [
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "vjp",
]
