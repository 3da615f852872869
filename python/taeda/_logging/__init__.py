"""PyTorch's path of the compiler's logs: `taeda.utils._compile_logs`."""

from taeda.utils._compile_logs import set_logs

__all__ = ["set_logs"]
