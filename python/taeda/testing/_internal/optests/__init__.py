"""PyTorch's private path of opcheck, which is in `taeda.library.operator_checks`."""

from taeda.library.operator_checks import OpCheckError, opcheck

__all__ = ["OpCheckError", "opcheck"]
