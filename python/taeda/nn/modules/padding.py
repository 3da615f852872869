"""Padding of one, two and three spatial dimensions as modules."""

from taeda.nn import functional as F
from taeda.nn.modules.module import Module
from taeda.nn.modules.utils import _ntuple

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _PadNd(Module):
    """The base: two numbers per spatial dimension, those of the last dimension first."""

    __constants__ = ["padding"]
    _num_spatial_dims = None
    _mode = None

    def __init__(self, padding):
        super().__init__()
        self.padding = _ntuple(2 * self._num_spatial_dims)(padding)

    def forward(self, input):
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self):
        return f"{self.padding}"


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def _check_input_dim(self, input):
        least = self._num_spatial_dims + 1
        if input.dim() not in (least, least + 1):
            raise ValueError(f"expected {least}D or {least + 1}D input (got {input.dim()}D input)")

    def forward(self, input):
        self._check_input_dim(input)
        return super().forward(input)


class _ConstantPadNd(_PadNd):
    __constants__ = ["padding", "value"]

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """A value beyond both ends."""

    _num_spatial_dims = 1


class ConstantPad2d(_ConstantPadNd):
    """A value around an image."""

    _num_spatial_dims = 2


class ConstantPad3d(_ConstantPadNd):
    """A value around a volume."""

    _num_spatial_dims = 3


class ZeroPad1d(ConstantPad1d):
    """Zeros beyond both ends."""

    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Zeros around an image."""

    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Zeros around a volume."""

    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class ReflectionPad1d(_ReflectionPadNd):
    """The values mirrored at the ends, which are not repeated."""

    _num_spatial_dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """An image mirrored at its edges, which are not repeated."""

    _num_spatial_dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """A volume mirrored at its faces, which are not repeated."""

    _num_spatial_dims = 3


class ReplicationPad1d(_ReplicationPadNd):
    """The end values repeated."""

    _num_spatial_dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """The edges of an image repeated."""

    _num_spatial_dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """The faces of a volume repeated."""

    _num_spatial_dims = 3


class CircularPad1d(_CircularPadNd):
    """The values of the other end."""

    _num_spatial_dims = 1


class CircularPad2d(_CircularPadNd):
    """The values of an image's other side."""

    _num_spatial_dims = 2


class CircularPad3d(_CircularPadNd):
    """The values of a volume's other side."""

    _num_spatial_dims = 3
