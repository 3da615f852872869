"""Convolutions with their weights in another memory format."""

from taeda.nn.modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module, kinds, memory_format):
    for child in module.modules():
        if isinstance(child, kinds):
            child.weight.data = child.weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module, memory_format):
    """Lays the weights of two-dimensional convolutions out in the format, here and below."""
    return _convert(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module, memory_format):
    """Lays the weights of three-dimensional convolutions out in the format, here and below."""
    return _convert(module, (Conv3d, ConvTranspose3d), memory_format)
