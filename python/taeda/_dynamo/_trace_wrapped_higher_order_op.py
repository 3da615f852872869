"""Indexing by scalar tensors, by PyTorch's path."""

from taeda.nn.attention.scalar_index import TransformGetItemToIndex

__all__ = ["TransformGetItemToIndex"]
