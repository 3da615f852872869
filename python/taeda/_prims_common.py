"""PyTorch's path of comparisons of what tensors tell without values: `taeda.fx.fake.comparison`."""

from taeda.fx.fake.comparison import compare_tensor_meta

__all__ = ["compare_tensor_meta"]
