"""Neural network parts: parameters and functions."""

from taeda.nn import functional
from taeda.nn.parameter import Parameter

__all__ = ["Parameter", "functional"]
