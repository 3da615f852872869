"""PyTorch's path of small functions that its users and tests share."""

from taeda._type_info import element_size as _element_size
from taeda.compiler import is_compiling
from taeda.utils._exception_wrapper import ExceptionWrapper, KeyErrorMessage

__all__ = ["ExceptionWrapper", "KeyErrorMessage", "_element_size", "is_compiling"]
