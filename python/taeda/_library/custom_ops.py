"""PyTorch's path of custom_op, which is in `taeda.library.custom_operators`."""

from taeda.library.custom_operators import OPDEFS, CustomOpDef, custom_op

__all__ = ["OPDEFS", "CustomOpDef", "custom_op"]
