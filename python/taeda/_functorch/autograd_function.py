"""PyTorch's path of autograd.Function under transforms: `taeda.func.custom_functions`."""

from taeda.func.custom_functions import VmapInfo, custom_function_call

__all__ = ["VmapInfo", "custom_function_call"]
