"""PyTorch's path of dynamic shapes as plain data, which are in `taeda.export._shape_specs`."""

from taeda.export._shape_specs import (
    DynamicShapesSpec,
    RootDim,
    _dump_dynamic_shapes,
    _load_dynamic_shapes,
)

__all__ = ["DynamicShapesSpec", "RootDim", "_dump_dynamic_shapes", "_load_dynamic_shapes"]
