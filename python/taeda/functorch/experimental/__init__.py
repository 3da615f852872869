"""PyTorch's older path of transforms (`taeda.func`) and of control flow."""

from taeda._functorch.apis import chunk_vmap
from taeda.func import functionalize, hessian, jacfwd, jvp, vmap

__all__ = ["chunk_vmap", "functionalize", "hessian", "jacfwd", "jvp", "vmap"]
