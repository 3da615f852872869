"""PyTorch's path of functional tensors, which are in `taeda.func.functional_tensors`."""

from taeda.func.functional_tensors import (
    FunctionalTensor,
    FunctionalTensorMode,
    dispatch_functionalize,
    mb_unwrap_functional_tensor,
)

__all__ = [
    "FunctionalTensor",
    "FunctionalTensorMode",
    "dispatch_functionalize",
    "mb_unwrap_functional_tensor",
]
