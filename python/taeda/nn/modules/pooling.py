"""Pooling over windows of one, two and three spatial dimensions as modules."""

from taeda._own_names import adopt_private_classes
from taeda.nn import functional as F
from taeda.nn.modules._adaptive_pooling import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
    FractionalMaxPool2d,
    FractionalMaxPool3d,
)
from taeda.nn.modules.module import Module
from taeda.nn.modules.utils import _ntuple, _single

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


class _Windows(Module):
    """The printed form: settings by name."""

    _shown = ("kernel_size", "stride", "padding")

    def extra_repr(self):
        return ", ".join(f"{name}={getattr(self, name)}" for name in self._shown)


class _MaxPoolNd(_Windows):
    """The largest element of each window."""

    __constants__ = [
        "kernel_size",
        "stride",
        "padding",
        "dilation",
        "return_indices",
        "ceil_mode",
    ]
    _shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")

    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        dilation=1,
        return_indices=False,
        ceil_mode=False,
    ):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def _pool(self, function, input):
        return function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )


class MaxPool1d(_MaxPoolNd):
    """The largest element of each window of a line."""

    def forward(self, input):
        return self._pool(F.max_pool1d, input)


class MaxPool2d(_MaxPoolNd):
    """The largest element of each window of an image."""

    def forward(self, input):
        return self._pool(F.max_pool2d, input)


class MaxPool3d(_MaxPoolNd):
    """The largest element of each window of a volume."""

    def forward(self, input):
        return self._pool(F.max_pool3d, input)


class _MaxUnpoolNd(_Windows):
    """Puts the largest elements back to their places, zeros elsewhere."""

    _num_spatial_dims = None

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        per_dim = _ntuple(self._num_spatial_dims)
        self.kernel_size = per_dim(kernel_size)
        self.stride = per_dim(kernel_size if stride is None else stride)
        self.padding = per_dim(padding)

    def _unpool(self, function, input, indices, output_size):
        return function(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpoolNd):
    """The partial inverse of MaxPool1d."""

    _num_spatial_dims = 1

    def forward(self, input, indices, output_size=None):
        return self._unpool(F.max_unpool1d, input, indices, output_size)


class MaxUnpool2d(_MaxUnpoolNd):
    """The partial inverse of MaxPool2d."""

    _num_spatial_dims = 2

    def forward(self, input, indices, output_size=None):
        return self._unpool(F.max_unpool2d, input, indices, output_size)


class MaxUnpool3d(_MaxUnpoolNd):
    """The partial inverse of MaxPool3d."""

    _num_spatial_dims = 3

    def forward(self, input, indices, output_size=None):
        return self._unpool(F.max_unpool3d, input, indices, output_size)


class _AvgPoolNd(_Windows):
    """The mean of each window."""

    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]

    def __init__(
        self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True
    ):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def __setstate__(self, state):
        super().__setstate__(state)
        for name, default in (("padding", 0), ("ceil_mode", False), ("count_include_pad", True)):
            self.__dict__.setdefault(name, default)

    def _settings(self):
        return (
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )


class AvgPool1d(_AvgPoolNd):
    """The mean of each window of a line."""

    def __init__(
        self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True
    ):
        stride = kernel_size if stride is None else stride
        super().__init__(
            _single(kernel_size), _single(stride), _single(padding), ceil_mode, count_include_pad
        )

    def forward(self, input):
        return F.avg_pool1d(input, *self._settings())


class _AvgPoolByDivisor(_AvgPoolNd):
    """The sum of each window over a number that may be given."""

    __constants__ = [*_AvgPoolNd.__constants__, "divisor_override"]

    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        ceil_mode=False,
        count_include_pad=True,
        divisor_override=None,
    ):
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        self.divisor_override = divisor_override


class AvgPool2d(_AvgPoolByDivisor):
    """The mean of each window of an image."""

    def forward(self, input):
        return F.avg_pool2d(input, *self._settings(), self.divisor_override)


class AvgPool3d(_AvgPoolByDivisor):
    """The mean of each window of a volume."""

    def forward(self, input):
        return F.avg_pool3d(input, *self._settings(), self.divisor_override)


class _LPPoolNd(_Windows):
    """The norm of each window."""

    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]
    _shown = ("norm_type", "kernel_size", "stride", "ceil_mode")

    def __init__(self, norm_type, kernel_size, stride=None, ceil_mode=False):
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def _pool(self, function, input):
        return function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool1d(_LPPoolNd):
    """The norm of each window of a line."""

    def forward(self, input):
        return self._pool(F.lp_pool1d, input)


class LPPool2d(_LPPoolNd):
    """The norm of each window of an image."""

    def forward(self, input):
        return self._pool(F.lp_pool2d, input)


class LPPool3d(_LPPoolNd):
    """The norm of each window of a volume."""

    def forward(self, input):
        return self._pool(F.lp_pool3d, input)


adopt_private_classes(globals())
