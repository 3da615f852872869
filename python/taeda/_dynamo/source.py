"""PyTorch's path of the sources of values, which are in `taeda.fx.symbolic.sources`."""

from taeda.fx.symbolic.sources import (
    AttrSource,
    ConstantSource,
    GetItemSource,
    GlobalSource,
    LocalSource,
    TensorProperty,
    TensorPropertySource,
)

__all__ = [
    "AttrSource",
    "ConstantSource",
    "GetItemSource",
    "GlobalSource",
    "LocalSource",
    "TensorProperty",
    "TensorPropertySource",
]
