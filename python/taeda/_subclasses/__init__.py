"""PyTorch's private paths of fake tensors (`taeda.fx.fake`) and functional ones."""

from taeda._subclasses import fake_impls, fake_tensor, functional_tensor, meta_utils
from taeda.fx.fake.comparison import CrossRefFakeMode
from taeda.fx.fake.tensors import (
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)

__all__ = [
    "CrossRefFakeMode",
    "DynamicOutputShapeException",
    "FakeTensor",
    "FakeTensorMode",
    "UnsupportedFakeTensorException",
    "UnsupportedOperatorException",
    "fake_impls",
    "fake_tensor",
    "functional_tensor",
    "meta_utils",
]
