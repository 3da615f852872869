"""The gradients of convolutions for their input and their weight, as functions."""

from collections.abc import Iterable

import taeda


def _backward(ndim, grad_output, input, weight, settings, groups, mask):
    stride, padding, dilation = (
        tuple(given) if isinstance(given, Iterable) else (given,) * ndim for given in settings
    )
    return taeda.ops.aten.convolution_backward(
        grad_output,
        input,
        weight,
        None,
        stride,
        padding,
        dilation,
        False,
        [0] * ndim,
        groups,
        mask,
    )


def _input(ndim, input_size, weight, grad_output, settings, groups):
    input = grad_output.new_empty(1).expand(input_size)
    return _backward(ndim, grad_output, input, weight, settings, groups, (True, False, False))[0]


def _weight(ndim, input, weight_size, grad_output, settings, groups):
    weight = grad_output.new_empty(1).expand(weight_size)
    return _backward(ndim, grad_output, input, weight, settings, groups, (False, True, False))[1]


def conv1d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv1d for an input of `input_size`."""
    return _input(1, input_size, weight, grad_output, (stride, padding, dilation), groups)


def conv1d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv1d for a weight of `weight_size`."""
    return _weight(1, input, weight_size, grad_output, (stride, padding, dilation), groups)


def conv2d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv2d for an input of `input_size`."""
    return _input(2, input_size, weight, grad_output, (stride, padding, dilation), groups)


def conv2d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv2d for a weight of `weight_size`."""
    return _weight(2, input, weight_size, grad_output, (stride, padding, dilation), groups)


def conv3d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv3d for an input of `input_size`."""
    return _input(3, input_size, weight, grad_output, (stride, padding, dilation), groups)


def conv3d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv3d for a weight of `weight_size`."""
    return _weight(3, input, weight_size, grad_output, (stride, padding, dilation), groups)
