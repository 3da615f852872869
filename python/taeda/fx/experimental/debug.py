"""PyTorch's path of `taeda.fx.passes.debug`."""

from taeda.fx.passes.debug import set_trace

__all__ = ["set_trace"]
