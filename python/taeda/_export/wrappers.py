"""PyTorch's path of the mark on constructors: `taeda.export._constructors`."""

from taeda.export._constructors import mark_subclass_constructor_exportable_experimental

__all__ = ["mark_subclass_constructor_exportable_experimental"]
