"""PyTorch's path of what tensors need between processes; sharing their memory is not there yet."""

from taeda.multiprocessing import reductions

__all__ = ["reductions"]
