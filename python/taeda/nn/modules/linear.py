"""Linear layers and the module that does nothing."""

import math

from taeda.autograd.grad_mode import no_grad
from taeda.nn import functional as F
from taeda.nn import init
from taeda.nn.modules._member_calls import calls
from taeda.nn.modules._weights import add_parameters, fill_uniform, weight_and_bias
from taeda.nn.modules.lazy import LazyModuleMixin
from taeda.nn.modules.module import Module
from taeda.nn.parameter import UninitializedParameter

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


class Identity(Module):
    """Returns its input; takes and ignores any arguments where it is made."""

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):
        return input


class Linear(Module):
    """input @ weight.T + bias"""

    __constants__ = ["in_features", "out_features"]

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        shapes = {
            "weight": (out_features, in_features),
            "bias": (out_features,) if bias else None,
        }
        add_parameters(self, shapes, device, dtype)
        self.reset_parameters()

    def reset_parameters(self):
        """Weight and bias uniform within one over the root of in_features."""
        fill_uniform(self.weight, self.bias)

    @calls(F, "linear", "weight", "bias")
    def forward(self, input):
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self):
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear that quantization leaves alone; attention projects its output with it."""


class Bilinear(Module):
    """For each output the sum of input1[i] * weight[i, j] * input2[j], and a bias."""

    __constants__ = ["in1_features", "in2_features", "out_features"]

    def __init__(
        self, in1_features, in2_features, out_features, bias=True, device=None, dtype=None
    ):
        super().__init__()
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        shapes = {
            "weight": (out_features, in1_features, in2_features),
            "bias": (out_features,) if bias else None,
        }
        add_parameters(self, shapes, device, dtype)
        self.reset_parameters()

    def reset_parameters(self):
        """Weight and bias uniform within one over the root of in1_features."""
        if self.in1_features <= 0:
            raise ValueError(
                f"in1_features must be > 0, but got (in1_features={self.in1_features})"
            )
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1, input2):
        return F.bilinear(input1, input2, *weight_and_bias(self))

    def extra_repr(self):
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear whose in_features is the last size of its first input."""

    cls_to_become = Linear

    def __init__(self, out_features, bias=True, device=None, dtype=None):
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input):
        in_features = input.shape[-1]
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = in_features
                self.weight.materialize((self.out_features, in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:
            # The weight came from a state dict.
            if in_features != self.weight.shape[-1]:
                raise AssertionError(
                    f"The in_features inferred from input: {in_features} is not equal to "
                    f"in_features from self.weight: {self.weight.shape[-1]}"
                )
            self.in_features = in_features
