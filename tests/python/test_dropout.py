"""Dropout multiplies by its mask: what it drops of a NaN or an infinity is a NaN, as in PyTorch."""

import pytest
from under_test import NAME, t

F = t.nn.functional
SHAPE = (16, 4, 3)
KINDS = {
    "dropout": lambda x, p: F.dropout(x, p),
    "dropout in place": lambda x, p: F.dropout(x.clone(), p, inplace=True),
    "Dropout": lambda x, p: t.nn.Dropout(p)(x),
    "dropout1d": lambda x, p: F.dropout1d(x, p),
    "dropout2d": lambda x, p: F.dropout2d(x.unsqueeze(-1), p).squeeze(-1),
    "dropout3d": lambda x, p: F.dropout3d(x[..., None, None], p)[..., 0, 0],
    "native_dropout": lambda x, p: t.native_dropout(x, p, True)[0],
    "alpha_dropout": lambda x, p: F.alpha_dropout(x, p, True),
    "feature_alpha_dropout": lambda x, p: F.feature_alpha_dropout(x, p, True),
}
each_kind = pytest.mark.parametrize("kind", KINDS)


def drawn(kind, value, p=0.5, dtype=None):
    t.manual_seed(5)
    return KINDS[kind](t.full(SHAPE, value, dtype=dtype), p)


@each_kind
@pytest.mark.parametrize("dtype", [t.float32, t.float64, t.bfloat16])
def test_forward(kind, dtype):
    is_kept = drawn(kind, 1.0, dtype=dtype) > 0.7 if "alpha" in kind else drawn(kind, 1.0) != 0
    assert is_kept.any() and not is_kept.all()
    assert drawn(kind, float("nan"), dtype=dtype).isnan().all()
    of_infinity = drawn(kind, float("inf"), dtype=dtype)
    assert t.equal(of_infinity.isnan(), ~is_kept) and (of_infinity[is_kept] == float("inf")).all()


@each_kind
@pytest.mark.parametrize("p", [0.5, 1.0])
def test_backward(kind, p):
    def grad(value):
        t.manual_seed(5)
        x = t.ones(SHAPE, requires_grad=True)
        y = KINDS[kind](x, p)
        return t.autograd.grad(y, x, t.full_like(y, value))[0]

    is_dropped = grad(1.0) == 0
    assert is_dropped.any()
    assert grad(float("nan")).isnan().all()
    assert t.equal(grad(float("inf")).isnan(), is_dropped)


@each_kind
def test_everything_dropped(kind):
    assert drawn(kind, 2.0, p=1.0).eq(0).all()
    assert drawn(kind, float("inf"), p=1.0).isnan().all()


def test_the_gradient_by_name():
    grad, mask = (
        t.tensor([float("inf"), float("nan"), 2.0, 3.0]),
        t.tensor([False, False, True, False]),
    )
    result = t.ops.aten.native_dropout_backward(grad, mask, 2.0)
    assert result[:2].isnan().all() and result[2:].tolist() == [4.0, 0.0]


@pytest.mark.parametrize("dtype", [t.int64, t.uint8, t.bool])
def test_the_gradient_of_whole_numbers_is_of_the_default_dtype(dtype):
    grad, mask = t.tensor([1, 1, 0]).to(dtype), t.tensor([True, False, True])
    result = t.ops.aten.native_dropout_backward(grad, mask, 2.5)
    assert result.dtype == t.float32 and result.tolist() == [2.5, 0.0, 0.0]


def test_weights_of_attention():
    q, k = t.zeros(1, 4, 8), t.zeros(1, 6, 8)
    v = t.full((1, 6, 8), float("inf"))
    t.manual_seed(5)
    # A weight that was dropped is zero, and zero times infinity is a NaN.
    assert F.scaled_dot_product_attention(q, k, v, dropout_p=0.5).isnan().any()
    t.manual_seed(5)
    weights = F.scaled_dot_product_attention(
        q, t.full_like(k, float("nan")), t.ones_like(v), dropout_p=0.5
    )
    assert weights.isnan().all()


@pytest.mark.skipif(NAME == "torch", reason="PyTorch's compiled programs draw other numbers")
@pytest.mark.parametrize("kind", [k for k in KINDS if k != "dropout in place"])
def test_compiled_programs_have_the_bits_of_eager(kind):
    def program(x, g):
        y = KINDS[kind](x, 0.3)
        return y, t.autograd.grad(y, x, g)[0]

    x = t.linspace(-2, 2, 16 * 4 * 3).reshape(SHAPE)
    x[3:6] = float("inf")
    x[7:9] = float("nan")
    g = t.full(SHAPE, -1.5)
    g[10:13] = float("-inf")
    x.requires_grad_()
    results = []
    for run in (program, t.compile(program)):
        t.manual_seed(11)
        results.append(run(x, g))
    for eager, compiled in zip(*results):
        assert t.equal(eager.view(t.int32), compiled.view(t.int32))
