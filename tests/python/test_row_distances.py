"""Distances between rows, bilinear forms and random activations against their definitions."""

import math

import pytest

import taeda
from taeda.nn import functional as F

ORDERS = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, math.inf]


def plain_norm(values, p):
    sizes = [abs(v) for v in values]
    if p == 0:
        return sum(v != 0 for v in sizes)
    return max(sizes) if p == math.inf else sum(v**p for v in sizes) ** (1 / p)


def plain_distances(a, b, p):
    return [[plain_norm([x - y for x, y in zip(r, s)], p) for s in b] for r in a]


@pytest.mark.parametrize("p", ORDERS)
def test_cdist_is_the_norm_of_each_difference(p):
    a, b = taeda.randn(3, 11, dtype=taeda.float64), taeda.randn(4, 11, dtype=taeda.float64)
    expected = plain_distances(a.tolist(), b.tolist(), p)
    taeda.testing.assert_close(taeda.cdist(a, b, p), taeda.tensor(expected, dtype=taeda.float64))


def test_many_rows_go_by_a_product_of_matrices():
    a, b = taeda.randn(30, 5, dtype=taeda.float64), taeda.randn(2, 5, dtype=taeda.float64)
    by_kernel = taeda.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")
    taeda.testing.assert_close(taeda.cdist(a, b), by_kernel)


def test_batches_of_rows_are_broadcast():
    a, b = taeda.randn(2, 1, 3, 4), taeda.randn(5, 6, 4)
    out = taeda.cdist(a, b)
    assert out.shape == (2, 5, 3, 6)
    taeda.testing.assert_close(out[1, 2], taeda.cdist(a[1, 0], b[2]))


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0])
def test_cdist_has_all_derivatives(p):
    a = taeda.randn(2, 3, dtype=taeda.float64, requires_grad=True)
    b = taeda.randn(4, 3, dtype=taeda.float64, requires_grad=True)

    def distances(x, y):
        return taeda.cdist(x, y, p)

    assert taeda.autograd.gradcheck(distances, (a, b), check_forward_ad=True)
    assert taeda.autograd.gradgradcheck(distances, (a, b))


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, math.inf])
def test_rows_at_the_same_place_have_no_slope(p):
    a = taeda.ones(2, 3, requires_grad=True)
    taeda.cdist(a, taeda.ones(1, 3), p).sum().backward()
    assert not a.grad.any()


@pytest.mark.parametrize("p", ORDERS)
def test_pdist_is_the_upper_triangle(p):
    x = taeda.randn(5, 3, dtype=taeda.float64)
    i, j = zip(*[(i, j) for i in range(5) for j in range(i + 1, 5)])
    taeda.testing.assert_close(taeda.pdist(x, p), taeda.cdist(x, x, p)[list(i), list(j)])


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0])
def test_pdist_has_all_derivatives(p):
    x = taeda.randn(4, 3, dtype=taeda.float64, requires_grad=True)
    assert taeda.autograd.gradcheck(lambda a: taeda.pdist(a, p), (x,), check_forward_ad=True)
    assert taeda.autograd.gradgradcheck(lambda a: taeda.pdist(a, p), (x,))


@pytest.mark.parametrize(
    ("call", "phrase"),
    [
        (lambda: taeda.cdist(taeda.zeros(3), taeda.zeros(2, 3)), "at least 2D tensors, X1 got: 1D"),
        (lambda: taeda.cdist(taeda.zeros(2, 3), taeda.zeros(2, 4)), "same number of columns"),
        (lambda: taeda.cdist(taeda.zeros(2, 3), taeda.zeros(2, 3), -1.0), "non-negative p"),
        (lambda: taeda.pdist(taeda.zeros(3)), "pdist only supports 2D tensors, got: 1D"),
    ],
)
def test_distances_that_cannot_be_are_refused(call, phrase):
    with pytest.raises(RuntimeError, match=phrase):
        call()


def test_bilinear_is_a_sum_of_products():
    a, b, w, c = taeda.randn(2, 3), taeda.randn(2, 4), taeda.randn(5, 3, 4), taeda.randn(5)
    expected = taeda.einsum("bi,kij,bj->bk", a, w, b) + c
    taeda.testing.assert_close(F.bilinear(a, b, w, c), expected)


@pytest.mark.parametrize("unrolled", [0, 1, 2, 3])
def test_trilinear_unrolls_any_dimension(unrolled):
    a, w, b = taeda.randn(2, 3), taeda.randn(5, 3, 4), taeda.randn(2, 4)
    out = taeda._trilinear(a, w, b, [1, 3], [0], [1, 2], [2, 3], unrolled)
    taeda.testing.assert_close(out, taeda.einsum("bi,kij,bj->bk", a, w, b))


# ---- random activations ----
def test_slopes_of_rrelu_are_random_below_zero():
    x = taeda.linspace(-2, 2, 1001)
    out = F.rrelu(x, 0.25, 0.5, training=True)
    slopes = (out / x)[:500]
    assert out[501:].equal(x[501:])
    assert slopes.ge(0.25).all() and slopes.le(0.5).all() and slopes.std() > 0.05


def test_rrelu_outside_training_has_the_middle_slope():
    x = taeda.tensor([-2.0, 3.0])
    assert F.rrelu(x, 0.2, 0.4).tolist() == pytest.approx([-0.6, 3.0])


def test_gradients_of_rrelu_are_the_slopes_it_drew():
    x = taeda.randn(20, requires_grad=True)
    noise = taeda.empty(20)
    out = taeda._C._nn.rrelu_with_noise(x, noise, 0.1, 0.3, True)
    (gradient,) = taeda.autograd.grad(out.sum(), x)
    assert gradient.equal(noise) and out.equal(x * noise)


def test_gumbel_softmax_draws_the_categories():
    logits = taeda.tensor([0.7, 0.2, 0.1]).log().expand(20000, 3)
    counts = F.gumbel_softmax(logits, hard=True).mean(0)
    taeda.testing.assert_close(counts, taeda.tensor([0.7, 0.2, 0.1]), rtol=0, atol=0.02)


def test_hard_draws_have_the_gradient_of_soft_ones():
    logits = taeda.randn(4, 3, requires_grad=True)
    gradients = []
    for hard in (False, True):
        taeda.manual_seed(5)
        out = F.gumbel_softmax(logits, tau=0.5, hard=hard)
        gradients += taeda.autograd.grad((out * taeda.arange(3.0)).sum(), logits)
    taeda.testing.assert_close(*gradients)
    assert set(out.detach().round().flatten().tolist()) == {0.0, 1.0}
