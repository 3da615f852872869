"""PyTorch's path of meta tensors for real ones: `taeda.fx.fake.meta_tensors`."""

from taeda.fx.fake.meta_tensors import MetaConverter, assert_eq, assert_metadata_eq, safe_is_leaf

__all__ = ["MetaConverter", "assert_eq", "assert_metadata_eq", "safe_is_leaf"]
