"""Blocks of images as columns, and back."""

from taeda.nn import functional as F
from taeda.nn.modules.module import Module

__all__ = ["Fold", "Unfold"]


class _Blocks(Module):
    """The settings of blocks, printed in the order of the constants."""

    def __init__(self, kernel_size, dilation, padding, stride):
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def extra_repr(self):
        return ", ".join(f"{name}={getattr(self, name)}" for name in self.__constants__)


class Unfold(_Blocks):
    """The sliding blocks of an image, one per column."""

    __constants__ = ["kernel_size", "dilation", "padding", "stride"]

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__(kernel_size, dilation, padding, stride)

    def forward(self, input):
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(_Blocks):
    """The image whose blocks are the columns, summed where they overlap."""

    __constants__ = ["output_size", "kernel_size", "dilation", "padding", "stride"]

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, input):
        return F.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )
