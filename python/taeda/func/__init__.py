"""Function transforms: derivatives and batching of functions, in any composition."""

from taeda.func.batching import vmap
from taeda.func.derivatives import grad, grad_and_value, jvp, linearize, vjp
from taeda.func.functionalization import functionalize
from taeda.func.jacobians import hessian, jacfwd, jacrev
from taeda.func.modules import (
    functional_call,
    replace_all_batch_norm_modules_,
    stack_module_state,
)

__all__ = [
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
