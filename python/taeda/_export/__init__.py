"""PyTorch's private paths of export, which is in `taeda.export`."""

from taeda._export import wrappers

__all__ = ["wrappers"]
