"""Strides of what operators make: they follow the inputs, as in PyTorch."""

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


# Tensors by the order of their dimensions in memory.
ORDERS = {
    "rows": lambda lib: lib.ones(2, 3, 4, 5),
    "channels last": lambda lib: lib.ones(2, 3, 4, 5).contiguous(memory_format=lib.channels_last),
    "volume": lambda lib: lib.ones(2, 3, 2, 2, 3).contiguous(memory_format=lib.channels_last_3d),
    "every second channel": lambda lib: ORDERS["channels last"](lib)[:, ::2],
    "turned": lambda lib: lib.ones(5, 3, 2, 4).permute(2, 1, 3, 0),
    "matrix": lambda lib: lib.ones(3, 4).t(),
    "repeated": lambda lib: lib.ones(1, 3, 4, 1).expand(2, 3, 4, 5),
    "no elements": lambda lib: lib.ones(0, 3, 4, 5).contiguous(memory_format=lib.channels_last),
}
MADE = {
    "stack 0": lambda lib, x: lib.stack([x, x]),
    "stack 1": lambda lib, x: lib.stack([x, x], 1),
    "stack behind": lambda lib, x: lib.stack([x, x], -1),
    "stack mixed": lambda lib, x: lib.stack([x, lib.ones(x.shape)], 1),
    "cat": lambda lib, x: lib.cat([x, x], 1),
    "hstack": lambda lib, x: lib.hstack([x, x]),
    "vstack": lambda lib, x: lib.vstack([x, x]),
    "dstack": lambda lib, x: lib.dstack([x, x]),
    "roll": lambda lib, x: lib.roll(x, 1, 1),
    "roll of two": lambda lib, x: lib.roll(x, (1, 1), (0, 1)),
    "roll of all": lambda lib, x: lib.roll(x, 1),
    "flip": lambda lib, x: lib.flip(x, [0, 1]),
    "repeat_interleave": lambda lib, x: lib.repeat_interleave(x, 2, 1),
    "gather": lambda lib, x: lib.gather(x, 1, lib.zeros_like(x, dtype=lib.long)),
    "index_select": lambda lib, x: lib.index_select(x, 1, lib.tensor([0, 0])),
    "masked_fill": lambda lib, x: x.masked_fill(x > 3, 0.0),
    "clone": lambda lib, x: x.clone(),
    "empty_like": lambda lib, x: lib.empty_like(x),
    "zeros_like": lambda lib, x: lib.zeros_like(x, dtype=lib.double),
    "double": lambda lib, x: x.double(),
    "sort": lambda lib, x: x.sort(1).values,
    "argsort": lambda lib, x: x.argsort(0),
    "complex": lambda lib, x: lib.complex(x, x),
    "polar": lambda lib, x: lib.polar(x, x),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("order", ORDERS)
def test_of_joins_moves_and_copies(torch, name, order):
    if (name, order) == ("polar", "no elements"):
        pytest.skip("products of the parts order what has no elements by its sizes")

    def strides(lib):
        return tuple(MADE[name](lib, ORDERS[order](lib)).stride())

    assert strides(t) == strides(torch)


@pytest.mark.parametrize("name", ["clone", "empty_like", "zeros_like", "double", "masked_fill"])
def test_of_copies_along_a_dimension_of_size_one(torch, name):
    def strides(lib):
        return tuple(MADE[name](lib, lib.ones(40).as_strided((2, 1, 4, 5), (20, 1, 5, 1))).stride())

    assert strides(t) == strides(torch)


F = t.nn.functional
OF_ONE = {
    "cat": lambda x: t.cat([x, x], 1),
    "stack, first": lambda x: t.stack([x, x]),
    "stack, second": lambda x: t.stack([x, x], 1),
    "stack, last": lambda x: t.stack([x, x], 4),
    "max_pool2d": lambda x: F.max_pool2d(x, 1),
    "batch_norm": lambda x: F.batch_norm(x, t.zeros(2), t.ones(2)),
    "group_norm": lambda x: F.group_norm(x, 1),
    "interpolate": lambda x: F.interpolate(x, scale_factor=2),
}


# Dimensions of size one with strides that fit both orders, or neither.
@pytest.mark.parametrize(
    ("sizes", "strides", "expected"),
    [
        (
            (2, 2, 2, 1),
            (4, 1, 2, 1),
            [
                *[(8, 2, 1, 1), (8, 4, 2, 1, 1), (8, 4, 2, 1, 1), (8, 4, 2, 2, 1)],
                *[(4, 2, 1, 1), (4, 1, 2, 2), (4, 2, 1, 1), (16, 8, 2, 1)],
            ],
        ),
        (
            (1, 2, 1, 3),
            (6, 1, 6, 2),
            [
                *[(12, 1, 12, 4), (6, 2, 1, 6, 2), (4, 2, 1, 12, 4), (12, 6, 6, 2, 1)],
                *[(6, 1, 6, 2), (6, 1, 6, 2), (6, 1, 6, 2), (24, 1, 12, 2)],
            ],
        ),
        (
            (1, 2, 1, 1),
            (2, 1, 2, 2),
            [
                *[(4, 1, 4, 4), (2, 2, 1, 2, 2), (4, 2, 1, 4, 4), (4, 2, 2, 2, 1)],
                *[(2, 1, 2, 2), (2, 1, 1, 1), (2, 1, 2, 2), (8, 1, 4, 2)],
            ],
        ),
    ],
)
def test_of_dimensions_of_size_one(sizes, strides, expected):
    x = t.empty_strided(sizes, strides).fill_(1)
    assert [f(x).stride() for f in OF_ONE.values()] == expected


LAST = t.channels_last


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize(
    "x",
    [
        t.ones(2, 1, 4, 5).contiguous(memory_format=LAST),
        t.ones(2, 3, 1, 1).contiguous(memory_format=LAST),
        t.ones(2, 3, 4, 5).contiguous(memory_format=LAST),
        t.ones(1, 3, 1, 1).permute(2, 1, 3, 0),
    ],
)
def test_compiled_programs_have_eagers_strides(x, dynamic):
    def made_of(x):
        return (
            t.empty_like(x).fill_(2.0),
            x * t.ones(1, 1, 1, 1),
            x.mean((2, 3), keepdim=True) * x,
            x.roll(1, 1),
            x.roll((1, 1), (2, 3)),
        )

    results = t.compile(made_of, dynamic=dynamic)(x)
    assert [y.stride() for y in results] == [y.stride() for y in made_of(x)]


@pytest.mark.parametrize(
    "call",
    [
        t.relu,
        t.erf,
        t.nn.functional.leaky_relu,
        lambda x: t.nn.functional.threshold(x, 0.0, 0.0),
    ],
)
@pytest.mark.parametrize("run", [lambda f: f, t.compile], ids=["eager", "compiled"])
def test_gradients_follow_the_argument(call, run):
    x = t.ones(2, 3, 4).permute(2, 0, 1).requires_grad_()
    (grad,) = t.autograd.grad(run(call)(x), x, t.ones(4, 2, 3))
    assert grad.stride() == x.stride() == (1, 12, 4)


@pytest.mark.parametrize("is_recorded", [False, True])
def test_layer_norm_has_contiguous_gradients(is_recorded):
    x = t.rand(3, 4, 2).transpose(1, 2).requires_grad_()
    y = t.nn.functional.layer_norm(x, (4,))
    (grad,) = t.autograd.grad(y, x, t.ones(3, 4, 2).transpose(1, 2), create_graph=is_recorded)
    assert grad.stride() == (8, 4, 1)
