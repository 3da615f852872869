"""The older package of transforms, by PyTorch's path; they are in `taeda.func`."""

from taeda.func import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap
from taeda.fx.operator_trace import make_fx

__all__ = [
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_fx",
    "vjp",
    "vmap",
]
