"""Strides of what pointwise operators make: they follow the inputs, as in PyTorch."""

import pytest
from under_test import t


def turned(*sizes):
    """Of the given sizes, the last two dimensions the other way round in memory."""
    *front, a, b = sizes
    return t.ones(*front, b, a).transpose(-1, -2)


@pytest.mark.parametrize(
    ("inputs", "strides"),
    [
        ((t.ones(2, 1, 4), t.ones(3, 1)), (12, 4, 1)),
        ((turned(2, 3, 4), t.ones(4)), (12, 1, 3)),
        ((t.ones(4), turned(2, 3, 4)), (12, 1, 3)),
        ((t.ones(2, 1, 1), turned(1, 3, 4)), (12, 1, 3)),
        ((turned(1, 3, 4), t.ones(2, 1, 1)), (12, 1, 3)),
        ((t.ones(3, 1), turned(3, 4)), (1, 3)),
        ((t.ones(2, 3, 4)[:, ::2], t.ones(1, 2, 4)), (8, 4, 1)),
        ((t.ones(4, 3).t(), t.tensor(1.0)), (1, 3)),
        ((t.ones(3, 1).expand(3, 4), t.ones(4)), (4, 1)),
        ((t.ones(5, 1, 1).transpose(0, 2), t.ones(2, 3, 1)), (15, 5, 1)),
        ((t.ones(2, 0, 1), t.ones(1, 1, 4)), (4, 4, 1)),
    ],
)
def test_of_broadcast_inputs(inputs, strides):
    a, b = inputs
    for result in (t.add(a, b), t.eq(a, b), t.where(a > 0, a, b), t.addcmul(a, a, b)):
        assert result.stride() == strides


@pytest.mark.parametrize(
    ("inputs", "strides"),
    [
        ((t.ones(3).expand(4, 3), t.ones(3, 4).t()), (1, 4)),
        ((t.ones(3).expand(4, 2, 3), t.ones(2, 3, 4).permute(2, 0, 1)), (1, 12, 4)),
        ((t.ones(4, 1, 3).expand(4, 2, 3), t.ones(2, 3, 4).permute(2, 0, 1)), (3, 12, 1)),
        ((t.ones(2, 3, 4).permute(2, 0, 1), t.ones(4, 1, 3).expand(4, 2, 3)), (1, 12, 4)),
        ((t.ones(3, 4), t.ones(4, 3).t()), (4, 1)),
    ],
)
def test_of_inputs_that_differ_in_strides_alone(inputs, strides):
    a, b = inputs
    for result in (t.add(a, b), t.eq(a, b), t.maximum(a, b), t.addcmul(a, a, b)):
        assert result.stride() == strides


def test_of_one_input_that_repeats_a_dimension_between_others():
    x = t.ones(4, 2).t().unsqueeze(1).expand(2, 4, 4)
    assert x.stride() == (1, 0, 2)
    for result in (x.exp(), x * 2, t.empty_like(x), x.clone()):
        assert result.stride() == (1, 2, 8)


def test_a_broadcast_result_keeps_its_order_for_views():
    x = turned(2, 3, 4) + t.ones(4)
    assert x.transpose(-1, -2).is_contiguous()
    assert x.transpose(-1, -2).reshape(-1).data_ptr() == x.data_ptr()


# Layers of four channels; some keep the order of channels in memory, some make rows.
PLANES = [
    "PixelShuffle(2)",
    "PixelUnshuffle(2)",
    "ChannelShuffle(2)",
    "CircularPad2d(1)",
    "RReLU()",
]
PLANES += [
    "ReflectionPad2d(1)",
    "ZeroPad2d(1)",
    "LogSigmoid()",
    "Softmax2d()",
    "PReLU(4)",
    "GLU(1)",
]
PLANES += [
    "AdaptiveAvgPool2d(2)",
    "MaxPool2d(2)",
    "AvgPool2d(2)",
    "LPPool2d(2, 2)",
    "GroupNorm(2, 4)",
]
PLANES += ["Upsample(scale_factor=2)", "Conv2d(4, 6, 3, padding=1, padding_mode='circular')"]
VOLUMES = [
    "AvgPool3d(2)",
    "MaxPool3d(2)",
    "AdaptiveAvgPool3d(2)",
    "AdaptiveMaxPool3d(2)",
    "LogSigmoid()",
]
VOLUMES += ["LPPool3d(2, 2)", "CircularPad3d(1)", "ReplicationPad3d(1)", "BatchNorm3d(4)"]


@pytest.mark.parametrize("layer, ndim", [(p, 4) for p in PLANES] + [(v, 5) for v in VOLUMES])
def test_of_layers_on_channels_that_lie_innermost(torch, layer, ndim):
    def strides(lib):
        form = lib.channels_last if ndim == 4 else lib.channels_last_3d
        x = lib.ones((2,) + (4,) * (ndim - 1)).contiguous(memory_format=form)
        return tuple(eval(f"lib.nn.{layer}", {"lib": lib})(x).stride())

    assert strides(t) == strides(torch)


def test_of_the_gradient_of_bicubic_resampling(torch):
    def strides(lib):
        x = lib.ones(2, 4, 4, 4).contiguous(memory_format=lib.channels_last).requires_grad_()
        output = lib.nn.functional.interpolate(x, scale_factor=2, mode="bicubic")
        return tuple(lib.autograd.grad(output, x, lib.ones_like(output))[0].stride())

    assert strides(t) == strides(torch) == (64, 16, 4, 1)
