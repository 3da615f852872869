"""PyTorch's path of functional_call, which is in `taeda.func.modules`."""

from taeda.func.modules import functional_call, stack_module_state

__all__ = ["functional_call", "stack_module_state"]
