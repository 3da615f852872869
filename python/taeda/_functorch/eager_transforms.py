"""PyTorch's path of the transforms that take derivatives or remove writes: `taeda.func`."""

from taeda.func.derivatives import grad, grad_and_value, jvp, linearize, vjp
from taeda.func.functionalization import functionalize
from taeda.func.jacobians import hessian, jacfwd, jacrev

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
