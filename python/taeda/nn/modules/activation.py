"""Activation functions as modules."""

from taeda.nn import functional as F
from taeda.nn.modules.module import Module

__all__ = ["GELU", "LogSoftmax", "ReLU", "SiLU", "Sigmoid", "Softmax", "Tanh"]


class _WithInplace(Module):
    """An activation that can overwrite its input."""

    __constants__ = ["inplace"]

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class ReLU(_WithInplace):
    """max(0, input)"""

    def forward(self, input):
        return F.relu(input, inplace=self.inplace)


class SiLU(_WithInplace):
    """input * sigmoid(input)"""

    def forward(self, input):
        return F.silu(input, inplace=self.inplace)


class GELU(Module):
    """input * Φ(input), Φ the normal distribution, or its form with tanh."""

    __constants__ = ["approximate"]

    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input):
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self):
        return f"approximate={self.approximate!r}"


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input):
        return input.tanh()


class Sigmoid(Module):
    """1 / (1 + exp(-input))"""

    def forward(self, input):
        return input.sigmoid()


class _AlongDim(Module):
    """A function along a dimension."""

    __constants__ = ["dim"]

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def extra_repr(self):
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    """exp(input), scaled to sum to one along `dim`."""

    def forward(self, input):
        return F.softmax(input, self.dim, _stacklevel=5)


class LogSoftmax(_AlongDim):
    """The logarithm of softmax, without its overflow."""

    def forward(self, input):
        return F.log_softmax(input, self.dim, _stacklevel=5)
