"""Normalization of each example: over its last dimensions, groups of channels, or neighbours."""

import numbers

from taeda import _C
from taeda.nn import functional as F
from taeda.nn import init
from taeda.nn.modules._member_calls import calls
from taeda.nn.modules._weights import add_parameters, fill_affine
from taeda.nn.modules.module import Module

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


def _shape(normalized_shape):
    if isinstance(normalized_shape, numbers.Integral):
        return (normalized_shape,)
    return tuple(normalized_shape)


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
        self.normalized_shape = shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        shapes = {
            "weight": shape if elementwise_affine else None,
            "bias": shape if elementwise_affine and bias else None,
        }
        add_parameters(self, shapes, device, dtype)
        self.reset_parameters()

    def reset_parameters(self):
        """Scale one, shift zero."""
        fill_affine(self.weight, self.bias)

    @calls(_C, "layer_norm", "normalized_shape", "weight", "bias", "eps")
    def forward(self, input):
        return _C.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Division by the root of the mean square over the last dimensions, then a learned scale."""

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(
        self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None
    ):
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        shapes = {"weight": self.normalized_shape if elementwise_affine else None}
        add_parameters(self, shapes, device, dtype)
        self.reset_parameters()

    def reset_parameters(self):
        """Scale one."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    @calls(F, "rms_norm", "normalized_shape", "weight", "eps")
    def forward(self, x):
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(Module):
    """Zero mean and unit variance over groups of channels, then a scale and shift by channel."""

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]

    def __init__(
        self,
        num_groups,
        num_channels,
        eps=1e-5,
        affine=True,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        shape = (num_channels,)
        shapes = {"weight": shape if affine else None, "bias": shape if affine and bias else None}
        add_parameters(self, shapes, device, dtype)
        self.reset_parameters()

    def reset_parameters(self):
        """Scale one, shift zero."""
        if self.affine:
            fill_affine(self.weight, self.bias)

    @calls(F, "group_norm", "num_groups", "weight", "bias", "eps")
    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class _AcrossChannels(Module):
    """Division by a power of the squares of neighbouring channels."""

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1.0):
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"

    def forward(self, input):
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


class LocalResponseNorm(_AcrossChannels):
    """Normalization over neighbouring channels, of any number of spatial dimensions."""

    __constants__ = ["size", "alpha", "beta", "k"]


class CrossMapLRN2d(_AcrossChannels):
    """The older form of LocalResponseNorm, for images of (N, C, H, W)."""

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1):
        super().__init__(size, alpha, beta, k)

    def forward(self, input):
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        return super().forward(input)
