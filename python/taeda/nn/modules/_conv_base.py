"""The bases of convolutions: settings, parameters and calls for any number of dimensions."""

from taeda import _C
from taeda.autograd.grad_mode import no_grad
from taeda.nn import functional as F
from taeda.nn.modules._weights import add_parameters, fill_uniform, weight_and_bias
from taeda.nn.modules.module import Module
from taeda.nn.modules.utils import _ntuple, _reverse_repeat_tuple

_PADDINGS = {"same", "valid"}
_PADDING_MODES = {"zeros", "reflect", "replicate", "circular"}


class _ConvNd(Module):
    """The base: settings as tuples, one value per spatial dimension, and the two parameters."""

    __constants__ = [
        "stride",
        "padding",
        "dilation",
        "groups",
        "padding_mode",
        "output_padding",
        "in_channels",
        "out_channels",
        "kernel_size",
    ]
    _num_spatial_dims = None

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride,
        padding,
        dilation,
        transposed,
        output_padding,
        groups,
        bias,
        padding_mode,
        device=None,
        dtype=None,
    ):
        super().__init__()
        _check_groups(in_channels, out_channels, groups)
        _check_padding(padding, stride, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = _sides(padding, kernel_size, dilation)
        shapes = {"weight": self._weight_shape(), "bias": (out_channels,) if bias else None}
        add_parameters(self, shapes, device, dtype)
        self.reset_parameters()

    def _weight_shape(self):
        ends = self.out_channels, self.in_channels // self.groups
        if self.transposed:
            ends = self.in_channels, self.out_channels // self.groups
        return (*ends, *self.kernel_size)

    def reset_parameters(self):
        """Weight and bias uniform within one over the root of the inputs of an output."""
        with no_grad():
            weight = self.weight
            if weight.is_contiguous():
                fill_uniform(weight, self.bias)
                return
            # Numbers are drawn in the order of contiguous memory, whatever the layout.
            drawn = _C.empty_like(weight, memory_format=_C.contiguous_format)
            fill_uniform(drawn, self.bias)
            weight.copy_(drawn)

    def extra_repr(self):
        parts = [
            f"{self.in_channels}, {self.out_channels}",
            f"kernel_size={self.kernel_size}",
            f"stride={self.stride}",
        ]
        for name, default in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            value = getattr(self, name)
            if value != (default,) * len(value):
                parts.append(f"{name}={value}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)

    def __setstate__(self, state):
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


def _check_groups(in_channels, out_channels, groups):
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
        if channels % groups != 0:
            raise ValueError(f"{name} must be divisible by groups")


def _check_padding(padding, stride, padding_mode):
    if isinstance(padding, str):
        if padding not in _PADDINGS:
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {_PADDINGS}")
        if padding == "same" and any(step != 1 for step in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in _PADDING_MODES:
        raise ValueError(
            f"padding_mode must be one of {_PADDING_MODES}, but got padding_mode='{padding_mode}'"
        )


def _sides(padding, kernel_size, dilation):
    """The padding before and after each dimension, from the last to the first, as F.pad counts."""
    if not isinstance(padding, str):
        return _reverse_repeat_tuple(padding, 2)
    sides = []
    for size, step in zip(reversed(kernel_size), reversed(dilation)):
        total = step * (size - 1) if padding == "same" else 0
        sides += [total // 2, total - total // 2]
    return sides


class _Conv(_ConvNd):
    """A convolution; a class names its number of spatial dimensions and its function."""

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        bias=True,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        per_dim = _ntuple(self._num_spatial_dims)
        super().__init__(
            in_channels,
            out_channels,
            per_dim(kernel_size),
            per_dim(stride),
            padding if isinstance(padding, str) else per_dim(padding),
            per_dim(dilation),
            False,
            per_dim(0),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv(self, *args):
        """The function of F."""
        raise NotImplementedError

    def _conv_forward(self, input, weight, bias):
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = (0,) * self._num_spatial_dims
        return self._conv(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input):
        return self._conv_forward(input, *weight_and_bias(self))


class _ConvTransposeNd(_ConvNd):
    """The gradient of a convolution with respect to its input, as a layer."""

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        bias=True,
        dilation=1,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        per_dim = _ntuple(self._num_spatial_dims)
        super().__init__(
            in_channels,
            out_channels,
            per_dim(kernel_size),
            per_dim(stride),
            per_dim(padding),
            per_dim(dilation),
            True,
            per_dim(output_padding),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _output_padding(
        self, input, output_size, stride, padding, kernel_size, num_spatial_dims, dilation=None
    ):
        """What is added to each size so that the result has the size asked for."""
        if output_size is None:
            return tuple(self.output_padding)
        others = input.dim() - num_spatial_dims
        others = others if others == 2 else 1
        if len(output_size) == others + num_spatial_dims:
            output_size = output_size[others:]
        if len(output_size) != num_spatial_dims:
            raise ValueError(
                f"ConvTranspose{num_spatial_dims}D: for {input.dim()}D input, output_size must "
                f"have {num_spatial_dims} or {others + num_spatial_dims} elements "
                f"(got {len(output_size)})"
            )
        dilation = (1,) * num_spatial_dims if dilation is None else dilation
        smallest, largest = [], []
        for d in range(num_spatial_dims):
            size = (input.size(d + others) - 1) * stride[d] - 2 * padding[d]
            size += dilation[d] * (kernel_size[d] - 1) + 1
            smallest.append(size)
            largest.append(size + stride[d] - 1)
        if any(not low <= n <= high for n, low, high in zip(output_size, smallest, largest)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from "
                f"{smallest} to {largest} (for an input of {input.size()[2:]})"
            )
        return [size - low for size, low in zip(output_size, smallest)]

    def _conv_transpose(self, *args):
        """The function of F."""
        raise NotImplementedError

    def forward(self, input, output_size=None):
        if self.padding_mode != "zeros":
            raise ValueError(f"Only `zeros` padding mode is supported for {type(self).__name__}")
        output_padding = self._output_padding(
            input,
            output_size,
            self.stride,
            self.padding,
            self.kernel_size,
            self._num_spatial_dims,
            self.dilation,
        )
        return self._conv_transpose(
            input,
            *weight_and_bias(self),
            self.stride,
            self.padding,
            output_padding,
            self.groups,
            self.dilation,
        )
