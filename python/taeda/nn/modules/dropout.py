"""Dropout as a module."""

from taeda.nn import functional as F
from taeda.nn.modules.module import Module

__all__ = ["Dropout"]


class _DropoutNd(Module):
    """The base of the kinds of dropout: the probability, and whether the input is overwritten."""

    __constants__ = ["p", "inplace"]

    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self):
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zeroes elements with probability p in training, and scales the others up."""

    def forward(self, input):
        return F.dropout(input, self.p, self.training, self.inplace)
