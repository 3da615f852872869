"""Borders of all modes against their definition, index by index."""

import itertools
import math
import random

import pytest

import taeda as t
import taeda.nn.functional as F


def reflect(i, n):
    return abs(i) if abs(i) < n else 2 * (n - 1) - abs(i)


RULES = {
    "reflect": reflect,
    "replicate": lambda i, n: min(max(i, 0), n - 1),
    "circular": lambda i, n: i % n,
    "constant": lambda i, n: i if 0 <= i < n else None,
}


def expected(x, pad, mode, value=0.0):
    """The padded tensor, built from the map of each dimension."""
    for k in range(len(pad) // 2):
        d, (before, after) = x.dim() - 1 - k, pad[2 * k : 2 * k + 2]
        n = x.size(d)
        parts = []
        for i in range(-before, n + after):
            source = RULES[mode](i, n)
            part = x.select(d, 0 if source is None else source)
            parts.append(t.full_like(part, value) if source is None else part)
        x = t.stack(parts, d)
    return x


def arguments(n, mode, seed):
    rng = random.Random(f"{n} {mode} {seed}")
    size = [rng.randint(3, 6) for _ in range(n)]
    low = -1 if mode != "circular" else 0
    pad = [rng.randint(low, 2) for _ in range(2 * n)]
    x = t.arange(float(6 * math.prod(size))).reshape(2, 3, *size)
    return (x if seed % 2 else x[0]), pad


CASES = list(itertools.product((1, 2, 3), RULES, range(4)))


@pytest.mark.parametrize("n, mode, seed", CASES)
def test_every_element_comes_from_its_place(n, mode, seed):
    x, pad = arguments(n, mode, seed)
    assert t.equal(F.pad(x, pad, mode), expected(x, pad, mode))


@pytest.mark.parametrize("n, mode, seed", CASES[::4])
def test_gradients_add_up_where_elements_come_from(n, mode, seed):
    x, pad = arguments(n, mode, seed)
    x = x.double().requires_grad_()
    assert t.autograd.gradcheck(lambda x: F.pad(x, pad, mode).sin(), (x,))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "complex64", "complex128"])
def test_constants_of_every_dtype(dtype):
    x = t.ones(2, 3).to(getattr(t, dtype))
    y = F.pad(x, (1, 0, 0, 1), value=1)
    assert y.dtype == x.dtype and t.equal(y, t.ones(3, 4).to(x.dtype))
    assert F.pad(x, (1, 0)).sum().item() == 6


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate"])
def test_channels_that_lie_innermost_stay_there(mode):
    x = t.arange(240.0).reshape(2, 6, 5, 4)
    last = x.to(memory_format=t.channels_last).requires_grad_()
    y = F.pad(last, (1, 2, 3, -1), mode)
    assert t.equal(y, expected(x, (1, 2, 3, -1), mode))
    assert y.is_contiguous(memory_format=t.channels_last)
    y.sum().backward()
    assert t.equal(last.grad, t.autograd.grad(F.pad(last, (1, 2, 3, -1), mode).sum(), last)[0])


def test_any_number_of_dimensions():
    x = t.arange(16.0).reshape(2, 2, 2, 2)
    pad = (1, 0, 0, 1, 2, 0, -1, 1)
    assert t.equal(F.pad(x, pad, value=7.0), expected(x, pad, "constant", 7.0))
    assert t.equal(F.pad(x, ()), x)
    assert F.pad(x, ()).data_ptr() != x.data_ptr()


def test_a_result_given_with_other_strides():
    out = t.zeros(4, 2).T
    t.constant_pad_nd(t.ones(2, 2), (1, 1), 5, out=out)
    assert out.tolist() == [[5, 1, 1, 5], [5, 1, 1, 5]]


@pytest.mark.parametrize("mode", RULES)
def test_under_vmap(mode):
    x = t.randn(4, 3, 5, 6)
    batched = t.func.vmap(lambda x: F.pad(x, (1, 2, 2, 1), mode))(x)
    assert t.equal(batched, F.pad(x, (1, 2, 2, 1), mode))


@pytest.mark.parametrize(
    "pad, mode, error, phrase",
    [
        ((1, 2, 3), "constant", RuntimeError, "Padding length must be divisible by 2"),
        ((1,) * 8, "constant", RuntimeError, "less than or equal to two times the input"),
        ((5, 0), "reflect", RuntimeError, "Padding size should be less than the corresponding"),
        ((6, 0), "circular", RuntimeError, "wrapping around more than once"),
        ((1, 1), "mirror", NotImplementedError, "Unrecognised padding mode mirror"),
        ((1,) * 6, "replicate", NotImplementedError, "Padding size 6 is not supported"),
        ((-3, -3), "constant", RuntimeError, "resulted in a negative output size"),
        ((-3, -3), "replicate", RuntimeError, "is too small"),
    ],
)
def test_errors(pad, mode, error, phrase):
    with pytest.raises(error, match=phrase):
        F.pad(t.ones(2, 3, 5), pad, mode)


@pytest.mark.parametrize("before, after", [(4, -2), (-2, 4), (3, -5), (-5, 3)])
def test_what_is_left_is_continued_once(before, after):
    x = t.arange(5.0)[None, None]
    with pytest.raises(RuntimeError, match="wrapping around more than once"):
        F.pad(x, (before, after), mode="circular")


def test_a_part_is_continued():
    x = t.arange(5.0)[None, None]
    assert F.pad(x, (1, -1), mode="circular").tolist() == [[[3, 0, 1, 2, 3]]]
    assert F.pad(x, (-1, 2), mode="circular").tolist() == [[[1, 2, 3, 4, 1, 2]]]
    assert F.pad(x, (-2, 0), mode="circular").tolist() == [[[2, 3, 4]]]
