"""Patches as columns and back, and pixels and channels in other orders."""

import itertools

import pytest

import taeda as t
import taeda.nn.functional as F


def columns(x, kernel, dilation, padding, stride):
    """The patches by slices of the padded image."""
    x = F.pad(x, (padding[1], padding[1], padding[0], padding[0]))
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
    starts = [range(0, n - s + 1, step) for n, s, step in zip(x.shape[-2:], spans, stride)]
    patches = [
        x[..., i : i + spans[0] : dilation[0], j : j + spans[1] : dilation[1]].flatten(-3)
        for i, j in itertools.product(*starts)
    ]
    return t.stack(patches, -1)


CASES = [
    ((2, 3), (1, 1), (0, 0), (1, 1)),
    ((3, 2), (1, 2), (1, 1), (2, 1)),
    ((1, 1), (1, 1), (0, 2), (1, 3)),
    ((2, 2), (3, 1), (2, 0), (1, 2)),
]


@pytest.mark.parametrize("kernel, dilation, padding, stride", CASES)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64", "bool"])
def test_patches_are_slices(kernel, dilation, padding, stride, dtype):
    x = t.randn(2, 3, 6, 7).mul(4).to(getattr(t, dtype))
    y = F.unfold(x, kernel, dilation, padding, stride)
    assert t.equal(y, columns(x, kernel, dilation, padding, stride))
    assert t.equal(F.unfold(x[1], kernel, dilation, padding, stride), y[1])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kernel, dilation, padding, stride", CASES)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_folding_is_the_gradient_of_unfolding(kernel, dilation, padding, stride, dtype):
    x = t.randn(2, 3, 6, 7, dtype=getattr(t, dtype), requires_grad=True)
    y = columns(x, kernel, dilation, padding, stride)
    seed = t.randn_like(y)
    (expected,) = t.autograd.grad(y, x, seed)
    assert t.allclose(F.fold(seed, (6, 7), kernel, dilation, padding, stride), expected)
    assert t.autograd.gradcheck(
        lambda y: F.fold(y, (6, 7), kernel, dilation, padding, stride), (seed.requires_grad_(),)
    )


def test_pixels_and_channels():
    x = t.arange(2.0 * 12 * 2 * 3).reshape(2, 12, 2, 3)
    y = F.pixel_shuffle(x, 2)
    assert y.shape == (2, 3, 4, 6)
    for c, i, j in itertools.product(range(3), range(2), range(2)):
        assert t.equal(y[:, c, i::2, j::2], x[:, c * 4 + i * 2 + j])
    assert t.equal(F.pixel_unshuffle(y, 2), x)
    shuffled = F.channel_shuffle(x, 3)
    assert t.equal(shuffled[:, ::3], x[:, :4]) and t.equal(shuffled[:, 1::3], x[:, 4:8])


@pytest.mark.parametrize(
    "call", [lambda x: F.pixel_shuffle(x, 2), lambda x: F.channel_shuffle(x, 2)]
)
def test_channels_that_lie_innermost_stay_there(call):
    x = t.randn(2, 8, 3, 4)
    y = call(x.to(memory_format=t.channels_last))
    assert t.equal(y, call(x))
    assert y.is_contiguous(memory_format=t.channels_last)


def test_under_vmap():
    x = t.randn(3, 2, 2, 5, 6)
    y = t.func.vmap(lambda x: F.unfold(x, 2))(x)
    assert t.equal(y, t.stack([F.unfold(e, 2) for e in x]))
    back = t.func.vmap(lambda y: F.fold(y, (5, 6), 2))(y)
    assert t.allclose(back, t.stack([F.fold(e, (5, 6), 2) for e in y]))


@pytest.mark.parametrize(
    "call, phrase",
    [
        (lambda: F.unfold(t.ones(1, 2, 3), 4), "its components must be at least one"),
        (lambda: F.unfold(t.ones(1, 2, 3), 2, stride=0), "stride should be greater than zero"),
        (lambda: F.unfold(t.ones(1, 2, 0, 3), 2), "Expected 3D or 4D"),
        (lambda: F.unfold(t.ones(1, 1, 1, 1), 2), r"sliding blocks as \(0, 0\), but its"),
        (lambda: F.fold(t.ones(1, 5, 4), 3, 2), r"kernel_size, but .* kernel_size=\(2, 2\)"),
        (lambda: F.fold(t.ones(1, 4, 5), 3, 2), "number of sliding blocks 2 \\* 2 = 4"),
        (lambda: F.pixel_shuffle(t.ones(1, 3, 2, 2), 2), "square of upscale_factor"),
        (lambda: F.pixel_unshuffle(t.ones(1, 3, 3, 2), 2), "expects height to be divisible"),
        (lambda: F.channel_shuffle(t.ones(1, 3, 2), 2), "must be divisible by groups"),
    ],
)
def test_errors(call, phrase):
    with pytest.raises(RuntimeError, match=phrase):
        call()
