"""Convolutions and transposed convolutions of one, two and three spatial dimensions."""

from taeda._own_names import adopt_private_classes
from taeda.nn import functional as F
from taeda.nn.modules._conv_base import _Conv, _ConvNd, _ConvTransposeNd  # noqa: F401
from taeda.nn.modules._lazy_conv import _LazyConv, _LazyConvTranspose, _LazyConvXdMixin  # noqa: F401

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]


class Conv1d(_Conv):
    """Cross-correlation along one spatial dimension."""

    _num_spatial_dims = 1

    def _conv(self, *args):
        return F.conv1d(*args)


class Conv2d(_Conv):
    """Cross-correlation along two spatial dimensions."""

    _num_spatial_dims = 2

    def _conv(self, *args):
        return F.conv2d(*args)


class Conv3d(_Conv):
    """Cross-correlation along three spatial dimensions."""

    _num_spatial_dims = 3

    def _conv(self, *args):
        return F.conv3d(*args)


class ConvTranspose1d(_ConvTransposeNd):
    """A transposed convolution of one spatial dimension."""

    _num_spatial_dims = 1

    def _conv_transpose(self, *args):
        return F.conv_transpose1d(*args)


class ConvTranspose2d(_ConvTransposeNd):
    """A transposed convolution of two spatial dimensions."""

    _num_spatial_dims = 2

    def _conv_transpose(self, *args):
        return F.conv_transpose2d(*args)


class ConvTranspose3d(_ConvTransposeNd):
    """A transposed convolution of three spatial dimensions."""

    _num_spatial_dims = 3

    def _conv_transpose(self, *args):
        return F.conv_transpose3d(*args)


class LazyConv1d(_LazyConv, Conv1d):
    """A Conv1d whose in_channels is that of its first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """A Conv2d whose in_channels is that of its first input."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """A Conv3d whose in_channels is that of its first input."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """A ConvTranspose1d whose in_channels is that of its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """A ConvTranspose2d whose in_channels is that of its first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """A ConvTranspose3d whose in_channels is that of its first input."""

    cls_to_become = ConvTranspose3d


adopt_private_classes(globals())
