"""PyTorch's path of `taeda.fx.passes.normalize`."""

from taeda.fx.passes.normalize import NormalizeArgs, NormalizeOperators

__all__ = ["NormalizeArgs", "NormalizeOperators"]
