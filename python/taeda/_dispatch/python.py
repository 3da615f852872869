"""PyTorch's path of the scope in which kernels written in Python act."""

from taeda.utils._python_dispatch import enable_python_dispatcher

__all__ = ["enable_python_dispatcher"]
