"""PyTorch's path of `taeda._prims_common`; Taeda has no second set of operators below its own."""

from taeda import _prims_common as utils

__all__ = ["utils"]
