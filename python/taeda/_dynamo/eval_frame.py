"""PyTorch's path of compiled modules: `taeda.compiler._compile`."""

from taeda.compiler._compile import OptimizedModule

__all__ = ["OptimizedModule"]
