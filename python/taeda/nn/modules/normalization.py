"""Normalization over the last dimensions as a module."""

import numbers

from taeda import _C
from taeda.nn import init
from taeda.nn.modules.module import Module
from taeda.nn.parameter import Parameter

__all__ = ["LayerNorm"]


class LayerNorm(Module):
    """Zero mean and unit variance over the last dimensions, then a learned scale and shift."""

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(
        self,
        normalized_shape,
        eps=1e-5,
        elementwise_affine=True,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        if isinstance(normalized_shape, numbers.Integral):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        has_bias = elementwise_affine and bias
        for name, is_used in (("weight", elementwise_affine), ("bias", has_bias)):
            parameter = None
            if is_used:
                parameter = Parameter(_C.empty(self.normalized_shape, device=device, dtype=dtype))
            self.register_parameter(name, parameter)
        self.reset_parameters()

    def reset_parameters(self):
        """Scale one, shift zero."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input):
        # By the table, as in Linear.
        try:
            weight, bias = self._parameters["weight"], self._parameters["bias"]
        except KeyError:
            weight, bias = self.weight, self.bias
        return _C.layer_norm(input, self.normalized_shape, weight, bias, self.eps)

    def extra_repr(self):
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )
