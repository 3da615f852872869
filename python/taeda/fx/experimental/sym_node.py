"""The node of a symbolic number, under PyTorch's import path."""

from taeda._C._fx import SymNode
from taeda._sym import sym_sqrt

__all__ = ["SymNode", "sym_sqrt"]
