"""Tests group_norm, instance_norm, rms_norm and local_response_norm against their definitions."""

import pytest

import taeda as t

F = t.nn.functional


def grouped(x, groups, weight=None, bias=None, eps=1e-5):
    """Group normalization by its definition, in double precision."""
    wide = x.double()
    rows = wide.reshape(x.shape[0], groups, -1)
    centered = rows - rows.mean(2, keepdim=True)
    out = centered / (centered.square().mean(2, keepdim=True) + eps).sqrt()
    shape = (1, -1) + (1,) * (x.dim() - 2)
    out = out.reshape(x.shape)
    out = out if weight is None else out * weight.double().reshape(shape)
    return out if bias is None else out + bias.double().reshape(shape)


SHAPES = [(2, 6), (3, 6, 5), (2, 6, 33, 40), (1, 6, 3, 4, 5)]
BOUNDS = {t.float64: 1e-12, t.float32: 1e-5, t.bfloat16: 3e-2}


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("groups", [1, 2, 3])
def test_group_norm(shape, groups, dtype):
    x, weight, bias = (t.randn(s).to(dtype) for s in (shape, 6, 6))
    got = F.group_norm(x, groups, weight, bias)
    assert got.dtype == dtype and got.stride() == x.stride()
    assert t.allclose(got.double(), grouped(x, groups, weight, bias), atol=BOUNDS[dtype])


@pytest.mark.parametrize("groups", [1, 3])
def test_group_norm_with_channels_innermost(groups):
    x = t.randn(2, 6, 9, 7, dtype=t.float64).contiguous(memory_format=t.channels_last)
    weight, bias = t.randn(6, dtype=t.float64), t.randn(6, dtype=t.float64)
    leaves = [v.requires_grad_() for v in (x, weight, bias)]
    got = F.group_norm(x, groups, weight, bias)
    assert got.is_contiguous(memory_format=t.channels_last)
    grad = t.randn_like(got)
    expected = grouped(x, groups, weight, bias)
    assert t.allclose(got, expected)
    for a, b in zip(t.autograd.grad(got, leaves, grad), t.autograd.grad(expected, leaves, grad)):
        assert t.allclose(a, b)


@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_of_group_norm(shape):
    leaves = [t.randn(s, dtype=t.float64).requires_grad_() for s in (shape, 6, 6)]
    got = F.group_norm(leaves[0], 2, *leaves[1:])
    grad = t.randn_like(got)
    expected = grouped(leaves[0], 2, *leaves[1:])
    for a, b in zip(t.autograd.grad(got, leaves, grad), t.autograd.grad(expected, leaves, grad)):
        assert t.allclose(a, b)


def test_statistics_of_groups_have_derivatives():
    x = t.randn(2, 4, 3, dtype=t.float64, requires_grad=True)
    assert t.autograd.gradcheck(
        lambda x: t.native_group_norm(x, None, None, 2, 4, 3, 2, 1e-5), (x,), check_forward_ad=True
    )


def test_second_gradients():
    x, weight, bias = (t.randn(s, dtype=t.float64, requires_grad=True) for s in ((2, 4, 3), 4, 4))
    assert t.autograd.gradgradcheck(lambda *v: F.group_norm(v[0], 2, *v[1:]), (x, weight, bias))
    scale = t.randn(3, dtype=t.float64, requires_grad=True)
    assert t.autograd.gradgradcheck(lambda x, w: F.rms_norm(x, (3,), w), (x, scale))


@pytest.mark.parametrize("dtype", BOUNDS)
def test_instance_norm_is_a_group_per_channel(dtype):
    x, weight = t.randn(3, 6, 5, 4).to(dtype), t.randn(6).to(dtype)
    got = F.instance_norm(x, weight=weight)
    assert t.allclose(got.double(), grouped(x, 6, weight), atol=BOUNDS[dtype])


def test_instance_norm_moves_the_statistics():
    x = t.tensor([[[1.0, 3.0]], [[5.0, 9.0]]])
    mean, var = t.zeros(1), t.ones(1)
    F.instance_norm(x, mean, var, momentum=0.5)
    # The means of the examples' means, (2 + 7) / 2, and of their variances, (2 + 8) / 2.
    assert mean.item() == 2.25 and var.item() == 3.0
    before = mean.clone()
    F.instance_norm(x, mean, var, use_input_stats=False)
    assert t.equal(mean, before)


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize(
    "shape, ndim", [((4, 7), 1), ((2, 3, 40), 1), ((2, 3, 40), 2), ((5, 300), 1)]
)
def test_rms_norm(shape, ndim, dtype):
    x, weight = t.randn(shape).to(dtype), t.randn(shape[-ndim:]).to(dtype)
    leaves = [v.requires_grad_() for v in (x, weight)]
    got = F.rms_norm(x, shape[-ndim:], weight, eps=1e-3)
    wide = [v.detach().double().requires_grad_() for v in leaves]
    dims = list(range(-ndim, 0))
    expected = wide[0] / (wide[0].square().mean(dims, keepdim=True) + 1e-3).sqrt() * wide[1]
    assert got.dtype == dtype
    assert t.allclose(got.double(), expected, atol=2 * BOUNDS[dtype])
    grad = t.randn(shape).to(dtype)
    theirs = t.autograd.grad(expected, wide, grad.double())
    for a, b in zip(t.autograd.grad(got, leaves, grad), theirs):
        assert t.allclose(a.double(), b, atol=5 * BOUNDS[dtype], rtol=BOUNDS[dtype])


def test_the_step_of_rms_norm_is_that_of_its_type():
    x = t.full((1, 4), 1e-8)
    assert t.allclose(F.rms_norm(x, (4,)), x / t.finfo(t.float32).eps ** 0.5)


def test_local_response_norm():
    x = t.randn(2, 5, 3, 4, dtype=t.float64)
    got = F.local_response_norm(x, 3, alpha=0.5, beta=0.75, k=2.0)
    for c in range(5):
        near = x[:, max(0, c - 1) : c + 2].square().sum(1) / 3
        assert t.allclose(got[:, c], x[:, c] / (2 + 0.5 * near) ** 0.75)


def test_local_response_norm_of_integers_cuts_means():
    x = t.tensor([[[2], [3], [5]]])
    got = F.local_response_norm(x, 2, alpha=1.0, beta=1.0, k=1.0)
    # The means are 4 / 2, 13 / 2 and 34 / 2.
    assert got.flatten().tolist() == pytest.approx([2 / 3, 3 / 7, 5 / 18])


@pytest.mark.parametrize("dtype", [t.float32, t.float64])
@pytest.mark.parametrize("shape", [(3, 6, 1, 5), (32, 8, 7, 7), (5, 4, 33, 65), (2, 3, 70, 70)])
def test_gradients_of_norms_have_the_same_bits_in_every_layout(shape, dtype):
    x, grad = t.randn(shape, dtype=dtype), t.randn(shape, dtype=dtype)
    weight = t.rand(shape[1], dtype=dtype)
    n, channels, inner = shape[0], shape[1], shape[2] * shape[3]

    def gradients(x, grad):
        _, mean, rstd = t.native_batch_norm(x, weight, None, None, None, True, 0.1, 1e-5)
        batch = t.ops.aten.native_batch_norm_backward(
            grad, x, weight, None, None, mean, rstd, True, 1e-5, [True] * 3
        )
        sizes = (n, channels, inner, 1)
        _, mean, rstd = t.native_group_norm(x, weight, None, *sizes, 1e-5)
        group = t.ops.aten.native_group_norm_backward(
            grad, x, mean, rstd, weight, *sizes, [True] * 3
        )
        return *batch, *group

    last = [v.contiguous(memory_format=t.channels_last) for v in (x, grad)]
    for rows, columns in zip(gradients(x, grad), gradients(*last), strict=True):
        assert t.equal(rows, columns)


def test_batch_norm_without_elements_needs_no_channels():
    assert F.batch_norm(t.empty(0), t.empty(0), t.empty(0), training=True).shape == (0,)


def test_errors():
    x = t.ones(2, 6, 3)
    with pytest.raises(RuntimeError, match="to be divisible by num_groups"):
        F.group_norm(x, 4)
    with pytest.raises(RuntimeError, match="Expected weight to be a vector of size equal"):
        F.group_norm(x, 3, t.ones(5))
    with pytest.raises(RuntimeError, match="Expected at least 2 dimensions"):
        F.group_norm(t.ones(3), 1)
    with pytest.raises(ValueError, match="Expected more than 1 value per channel"):
        F.group_norm(t.ones(1, 2), 2)
    with pytest.raises(ValueError, match="Expected more than 1 spatial element"):
        F.instance_norm(t.ones(2, 3, 1))
    with pytest.raises(RuntimeError, match="to be defined when use_input_stats is false"):
        F.instance_norm(x, use_input_stats=False)
    with pytest.raises(RuntimeError, match="Given normalized_shape="):
        F.rms_norm(x, (4,))
    with pytest.raises(ValueError, match="Expected 3D or higher"):
        F.local_response_norm(t.ones(2, 3), 2)
