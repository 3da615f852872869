"""Tests of matrix products: strides, batches, dtypes, out=, in-place, gradients and error messages."""

import itertools

import pytest
from under_test import t

F = t.nn.functional


def numbers(*shape, dtype=t.float64):
    count = 1
    for s in shape:
        count *= s
    return ((t.arange(count) * 7 % 11) - 5).to(dtype).reshape(*shape)


def product(a, b):
    """The definition: sums over the last and the last but one dimension, batches broadcast."""
    return (a.unsqueeze(-1) * b.unsqueeze(-3)).sum(-2)


@pytest.mark.parametrize(
    "dtype", [t.float32, t.float64, t.bfloat16, t.float16, t.int64, t.int32, t.uint8, t.complex64]
)
def test_dtypes(dtype):
    a, b = (
        numbers(5, 7, dtype=t.int64).abs().to(dtype),
        numbers(7, 3, dtype=t.int64).abs().to(dtype),
    )
    expected = product(
        a.to(t.float64) if not a.is_complex() else a, b.to(t.float64) if not b.is_complex() else b
    )
    got = t.mm(a, b)
    assert got.dtype == dtype and got.shape == (5, 3)
    assert got.to(expected.dtype).tolist() == expected.to(dtype).to(expected.dtype).tolist()


@pytest.mark.parametrize(
    "a_shape, b_shape",
    [
        ((2, 3, 4), (4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((3, 4), (2, 4, 5)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((1, 1, 4), (6, 4, 4)),
        ((2, 3, 0), (0, 4)),
        ((0, 3, 4), (4, 2)),
        ((2, 2, 1, 1), (1, 1)),
    ],
)
def test_matmul_batches(a_shape, b_shape):
    a, b = numbers(*a_shape), numbers(*b_shape)
    assert t.matmul(a, b).tolist() == product(a, b).tolist()
    out = t.empty(0, dtype=t.float64)
    assert t.matmul(a, b, out=out) is out and out.tolist() == product(a, b).tolist()


def test_strided_operands_are_read_in_place():
    base = numbers(2, 5, 3, 4)
    q, k = base.permute(0, 2, 1, 3), (base * 2).permute(0, 2, 3, 1)
    assert t.matmul(q, k).tolist() == product(q, k).tolist()
    assert (
        t.matmul(q[..., ::2], k[..., ::2, :]).tolist()
        == product(q[..., ::2], k[..., ::2, :]).tolist()
    )
    weight = numbers(6, 4)
    assert F.linear(q, weight).tolist() == product(q, weight.transpose(0, 1)).tolist()


def test_vectors():
    m, v, w = numbers(3, 4), numbers(4), numbers(3)
    assert t.mv(m, v).tolist() == (m * v).sum(1).tolist() == t.matmul(m, v).tolist()
    assert t.matmul(w, m).tolist() == (w.unsqueeze(1) * m).sum(0).tolist()
    assert t.dot(v, v[::1]).item() == (v * v).sum().item() == t.matmul(v, v).item()
    assert t.outer(w, v).tolist() == (w.unsqueeze(1) * v).tolist()
    c = t.complex(v, v + 1) if hasattr(t, "complex") else v
    assert t.vdot(c, c).tolist() == (c.conj() * c).sum().tolist()


def test_beta_zero_ignores_nan():
    nan = t.full((2, 2), float("nan"))
    a = t.ones(2, 2)
    assert t.addmm(nan, a, a, beta=0).tolist() == [[2, 2], [2, 2]]
    assert t.baddbmm(nan.unsqueeze(0), a.unsqueeze(0), a.unsqueeze(0), beta=0).tolist() == [
        [[2, 2], [2, 2]]
    ]
    assert t.addmv(nan[0], a, a[0], beta=0).tolist() == [2, 2]
    assert t.addbmm(nan, a.unsqueeze(0), a.unsqueeze(0), beta=0).tolist() == [[2, 2], [2, 2]]


def test_add_forms_and_in_place():
    a, b, c = numbers(2, 3), numbers(3, 4), numbers(2, 4)
    expected = 3 * c + 2 * product(a, b)
    assert t.addmm(c, a, b, beta=3, alpha=2).tolist() == expected.tolist()
    assert t.addmm(c[0], a, b, beta=3, alpha=2).tolist() == (3 * c[0] + 2 * product(a, b)).tolist()
    d = c.clone()
    assert d.addmm_(a, b, beta=3, alpha=2) is d and d.tolist() == expected.tolist()
    e = t.empty(4, 2, dtype=t.float64).transpose(0, 1)
    t.addmm(c, a, b, beta=3, alpha=2, out=e)
    assert e.stride() == (1, 2) and e.tolist() == expected.tolist()


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 2, 3), (0, 3)])
@pytest.mark.parametrize("with_bias", [True, False])
def test_linear(shape, with_bias):
    x, w = numbers(*shape).requires_grad_(), numbers(4, 3).requires_grad_()
    b = numbers(4).requires_grad_() if with_bias else None
    y = F.linear(x, w, b)
    plain = (x.unsqueeze(-2) * w).sum(-1) + (b if with_bias else 0)
    assert y.tolist() == plain.tolist()
    inputs = [x, w] + ([b] if with_bias else [])
    got = t.autograd.grad((y * y).sum(), inputs, create_graph=True)
    want = t.autograd.grad((plain * plain).sum(), inputs, create_graph=True)
    assert [g.tolist() for g in got] == [g.tolist() for g in want]
    second = t.autograd.grad(sum((g * g).sum() for g in got), [x, w])
    assert [g.tolist() for g in second] == [
        g.tolist() for g in t.autograd.grad(sum((g * g).sum() for g in want), [x, w])
    ]


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,kj", [(2, 3), (4, 3)]),
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("ii->i", [(3, 3)]),
        ("ii", [(3, 3)]),
        ("ij->ji", [(2, 3)]),
        ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
        ("i,j->ij", [(2,), (3,)]),
        ("ij,ij->", [(2, 3), (2, 3)]),
        ("bhqd,bhkd->bhqk", [(2, 2, 3, 4), (2, 2, 5, 4)]),
        ("ab,bc,cd->ad", [(2, 3), (3, 4), (4, 2)]),
        ("i...->...", [(2, 3)]),
        ("ij,jk", [(2, 1), (3, 4)]),
        ("iji->j", [(2, 3, 2)]),
    ],
)
def test_einsum(equation, shapes):
    operands = [numbers(*s) for s in shapes]
    assert t.einsum(equation, *operands).tolist() == einsum_by_loops(equation, operands)


def einsum_by_loops(equation, operands):
    """The definition, for equations whose ellipses cover what this names A, B."""
    left, _, right = equation.partition("->")
    parts = left.split(",")
    width = max(
        [o.dim() - len(p.replace("...", "")) for p, o in zip(parts, operands) if "..." in p],
        default=0,
    )
    names = "ABCD"[:width]
    full = [
        p.replace("...", names[width - (o.dim() - len(p.replace("...", ""))) :])
        for p, o in zip(parts, operands)
    ]
    if "->" in equation:
        out = right.replace("...", names)
    else:
        every = "".join(full)
        out = names + "".join(c for c in sorted(set(every)) if every.count(c) == 1)
    sizes = {}
    for p, o in zip(full, operands):
        for c, s in zip(p, o.shape):
            sizes[c] = max(sizes.get(c, 1), s)
    summed = [c for c in sizes if c not in out]
    result = t.zeros([sizes[c] for c in out], dtype=t.float64)
    flat = {}
    for where in itertools.product(*(range(sizes[c]) for c in [*out, *summed])):
        at = dict(zip([*out, *summed], where))
        value = 1.0
        for p, o in zip(full, operands):
            value *= o[tuple(min(at[c], s - 1) for c, s in zip(p, o.shape))].item()
        key = where[: len(out)]
        flat[key] = flat.get(key, 0.0) + value
    for key, value in flat.items():
        result[key] = value
    return result.tolist()


@pytest.mark.parametrize(
    "call, error, phrase",
    [
        (
            lambda: t.mm(t.ones(2, 3), t.ones(4, 5)),
            RuntimeError,
            r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 4x5\)",
        ),
        (lambda: t.mm(t.ones(3), t.ones(4, 5)), RuntimeError, "self must be a matrix"),
        (
            lambda: t.mm(t.ones(2, 3), t.ones(3, 4).double()),
            RuntimeError,
            "same dtype, but got: float != double",
        ),
        (
            lambda: t.mm(t.ones(2, 3) > 0, t.ones(3, 4) > 0),
            NotImplementedError,
            "not implemented for 'Bool'",
        ),
        (
            lambda: t.bmm(t.ones(2, 3, 4), t.ones(3, 4, 5)),
            RuntimeError,
            "Expected size for first two dimensions of batch2",
        ),
        (
            lambda: t.matmul(t.ones(()), t.ones(4)),
            RuntimeError,
            "at least 1D, but they are 0D and 1D",
        ),
        (
            lambda: t.matmul(t.ones(2, 2, 3), t.ones(3, 3, 2)),
            RuntimeError,
            r"The size of tensor a \(2\) must match",
        ),
        (lambda: t.dot(t.ones(3), t.ones(4)), RuntimeError, "inconsistent tensor size"),
        (lambda: t.mv(t.ones(4, 3), t.ones(2)), RuntimeError, "size mismatch, got input"),
        (
            lambda: t.addmm(t.ones(5), t.ones(2, 3), t.ones(3, 6)),
            RuntimeError,
            r"The expanded size of the tensor \(6\)",
        ),
        (
            lambda: F.linear(t.ones(2, 3), t.ones(4, 5)),
            RuntimeError,
            r"cannot be multiplied \(2x3 and 5x4\)",
        ),
        (
            lambda: t.einsum("ij,jk->ik", t.ones(2, 3), t.ones(4, 5)),
            RuntimeError,
            "subscript j has size 4",
        ),
        (
            lambda: t.einsum("ij->ik", t.ones(2, 3)),
            RuntimeError,
            "output subscript k does not appear",
        ),
        (
            lambda: t.einsum("i1->i", t.ones(2, 3)),
            RuntimeError,
            "invalid subscript given at index 1",
        ),
        (
            lambda: t.tensordot(t.ones(2, 3), t.ones(4, 3)),
            RuntimeError,
            "contracted dimensions need to match",
        ),
        (
            lambda: t.inner(t.ones(2, 3), t.ones(4, 2)),
            RuntimeError,
            "the last dimension must match",
        ),
    ],
)
def test_errors(call, error, phrase):
    with pytest.raises(error, match=phrase):
        call()


@pytest.mark.parametrize("sizes", [(3, 2, 4), (0, 2, 4), (4,)])
def test_a_weight_without_rows_has_a_gradient(sizes):
    x, weight = t.randn(*sizes, requires_grad=True), t.randn(0, 4, requires_grad=True)
    t.nn.functional.linear(x, weight).sum().backward()
    assert weight.grad.shape == (0, 4) and not x.grad.any() and x.grad.shape == x.shape


def test_out_may_be_a_factor_of_what_is_added():
    a = numbers(3, 3)
    for factor in (lambda x: x, lambda x: x.t()):
        x = a.clone()
        got = t.addmm(x, x, factor(x), beta=2, out=x)
        assert got is x and x.tolist() == (2 * a + product(a, factor(a))).tolist()
    x = a.clone()
    t.addmm(x[:2, :2], x[1:, 1:], x[1:, 1:], out=x[:2, :2])
    assert x[:2, :2].tolist() == (a[:2, :2] + product(a[1:, 1:], a[1:, 1:])).tolist()
    x = a.clone()
    t.addmv(x[0], x, x[1], out=x[0])
    assert x.tolist() == t.stack([a[0] + (a * a[1]).sum(1), a[1], a[2]]).tolist()


def test_inner_with_a_number_in_a_tensor_promotes():
    x = numbers(2, 3, dtype=t.float32)
    for number in (t.tensor(2), t.tensor(2.0, dtype=t.float64)):
        for got in (t.inner(x, number), t.inner(number, x), t.inner(number, x, out=t.empty(2, 3))):
            assert got.dtype == t.float32 and got.tolist() == (x * 2).tolist()
    assert t.inner(t.tensor([1, 2]), t.tensor(0.5)).tolist() == [0.5, 1.0]


@pytest.mark.parametrize("sizes", [(4,), (3, 2, 4)])
def test_a_number_is_added_to_the_products_with_a_vector(sizes):
    x, w, bias = numbers(*sizes), numbers(4), t.tensor(2.0, dtype=t.float64)
    inputs = [v.requires_grad_() for v in (x, w, bias)]
    result = F.linear(*inputs)
    want = (x * w).sum(-1) + bias
    assert t.allclose(result, want) and result.shape == want.shape
    weights = t.full_like(want, 3.0)
    for a, b in zip(
        t.autograd.grad(result, inputs, weights),
        t.autograd.grad(want, inputs, weights),
        strict=True,
    ):
        assert t.allclose(a, b)
