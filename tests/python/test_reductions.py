"""Tests of reductions, running sums, sorting, softmax and layer normalization against NumPy."""

import math
import warnings

import numpy as np
import pytest
from under_test import NAME, t

RNG = np.random.default_rng(7)


def tensor(a):
    return t.from_numpy(np.array(a))


def layouts(a):
    """The same 3-d values with several strides."""
    x = tensor(a)
    wide = tensor(np.repeat(a, 2, axis=2))
    return {
        "plain": x,
        "transposed": tensor(np.ascontiguousarray(a.transpose(2, 1, 0))).permute(2, 1, 0),
        "swapped": tensor(np.ascontiguousarray(a.transpose(0, 2, 1))).transpose(1, 2),
        "sliced": wide[:, :, ::2],
        "offset": tensor(np.concatenate([a, a]))[a.shape[0] :],
    }


DIMS = [0, 1, 2, -1, (0, 1), (1, 2), (0, 2), (0, 1, 2)]
VALUES = RNG.standard_normal((5, 33, 70))
REDUCTIONS = {
    "sum": np.sum,
    "mean": np.mean,
    "amax": np.max,
    "amin": np.min,
    "var": lambda a, axis, keepdims: np.var(a, axis=axis, keepdims=keepdims, ddof=1),
    "std": lambda a, axis, keepdims: np.std(a, axis=axis, keepdims=keepdims, ddof=1),
    "logsumexp": lambda a, axis, keepdims: np.log(np.sum(np.exp(a), axis=axis, keepdims=keepdims)),
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dim", DIMS, ids=str)
def test_reduction_of_any_layout_matches_numpy(name, dim):
    for layout, x in layouts(VALUES).items():
        for keepdim in (False, True):
            expected = REDUCTIONS[name](VALUES, axis=dim, keepdims=keepdim)
            got = getattr(t, name)(x, dim=dim, keepdim=keepdim)
            np.testing.assert_allclose(
                got.numpy(), expected, rtol=1e-12, atol=1e-12, err_msg=layout
            )


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_prod_and_extremes_with_positions(dim):
    for layout, x in layouts(VALUES).items():
        np.testing.assert_allclose(
            x.prod(dim).numpy(), VALUES.prod(dim), rtol=1e-11, err_msg=layout
        )
        for name, extreme, position in (("max", np.max, np.argmax), ("min", np.min, np.argmin)):
            values, indices = getattr(x, name)(dim)
            np.testing.assert_array_equal(values.numpy(), extreme(VALUES, dim), err_msg=layout)
            np.testing.assert_array_equal(indices.numpy(), position(VALUES, dim), err_msg=layout)
            np.testing.assert_array_equal(
                getattr(x, "arg" + name)(dim).numpy(), position(VALUES, dim)
            )


def test_argmax_counts_in_logical_order():
    for layout, x in layouts(VALUES).items():
        assert x.argmax().item() == VALUES.argmax(), layout
        assert x.argmin().item() == VALUES.argmin(), layout


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32, np.int64, np.bool_])
def test_integers_add_up_in_int64(dtype):
    a = RNG.integers(0, 2 if dtype is np.bool_ else 100, (40, 300)).astype(dtype)
    x = tensor(a)
    for dim in (0, 1, (0, 1)):
        got = x.sum(dim)
        assert got.dtype == t.int64
        np.testing.assert_array_equal(got.numpy(), a.sum(dim, dtype=np.int64))
        np.testing.assert_array_equal(x.amax(dim).numpy(), a.max(dim))
        np.testing.assert_array_equal(t.any(x, dim).numpy(), a.any(dim))
        np.testing.assert_array_equal(t.all(x, dim).numpy(), a.all(dim))
        np.testing.assert_array_equal(t.count_nonzero(x, dim).numpy(), np.count_nonzero(a, dim))


def test_complex_sum_mean_prod_and_var():
    a = RNG.standard_normal((6, 7)) + 1j * RNG.standard_normal((6, 7))
    x = tensor(a)
    np.testing.assert_allclose(x.sum(0).numpy(), a.sum(0))
    np.testing.assert_allclose(x.mean(1).numpy(), a.mean(1))
    np.testing.assert_allclose(x.prod(1).numpy(), a.prod(1))
    np.testing.assert_allclose(x.var(0).numpy(), a.var(0, ddof=1))


def test_reductions_of_nothing():
    x = t.zeros(0, 3)
    assert x.sum().item() == 0 and x.prod().item() == 1
    assert math.isnan(x.mean().item())
    assert not x.any().item() and x.all().item()
    assert x.sum(0).tolist() == [0, 0, 0] and x.sum(1).shape == (0,)
    assert x.amax(1).shape == (0,)
    assert x.logsumexp(0).tolist() == [-math.inf] * 3
    with pytest.raises(IndexError, match="Expected reduction dim 0 to have non-zero size"):
        x.amax(0)
    with pytest.raises(RuntimeError, match="Expected reduction dim to be specified"):
        x.max()
    with pytest.raises(IndexError, match="Expected reduction dim 0 to have non-zero size"):
        x.max(0)
    with pytest.raises(IndexError, match="Expected reduction dim to be specified"):
        x.argmax()


def test_variance_without_freedom_is_nan():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert math.isnan(t.ones(1).var().item())
        assert math.isnan(t.zeros(0).var().item())
    assert t.tensor([1.0, 3.0]).var(unbiased=False).item() == 1
    assert t.tensor([1.0, 3.0]).var(correction=0).item() == 1


def test_variance_keeps_digits_far_from_zero():
    a = (1e6 + RNG.standard_normal(200_000)).astype(np.float32)
    assert tensor(a).var().item() == pytest.approx(np.var(a.astype(np.float64), ddof=1), rel=1e-4)


def test_nan_wins():
    x = t.tensor([[1.0, math.nan, 3.0, math.nan], [4.0, 2.0, 5.0, 5.0]])
    assert math.isnan(x.max().item()) and math.isnan(x.amin(1)[0].item())
    assert x.argmax(1).tolist() == [1, 2] and x.argmin(1).tolist() == [1, 1]
    values, indices = x.max(1)
    assert math.isnan(values[0].item()) and indices.tolist() == [1, 2]


def test_logsumexp_of_infinities():
    inf = math.inf
    x = t.tensor([[-inf, -inf], [inf, 1.0], [-inf, 2.0], [-1000.0, -1000.0]])
    assert x.logsumexp(1).tolist() == pytest.approx([-inf, inf, 2.0, -1000 + math.log(2)])
    long = t.full((10_000,), -1000.0)
    long[:5000] = -inf
    assert long.logsumexp(0).item() == pytest.approx(-1000 + math.log(5000))


def test_long_sums_are_accurate():
    a = RNG.random(3_000_001).astype(np.float32)
    exact = math.fsum(a.astype(np.float64))
    assert tensor(a).sum().item() == pytest.approx(exact, rel=2e-7)
    tall = a[:3_000_000].reshape(-1, 3)
    np.testing.assert_allclose(
        tensor(tall).sum(0).numpy(), tall.astype(np.float64).sum(0), rtol=1e-6
    )


@pytest.mark.parametrize(
    "shape", [(1_000_003,), (3, 700_001), (100_001, 5), (700, 900), (64, 9, 700)], ids=str
)
def test_results_do_not_depend_on_threads(shape):
    a = tensor(RNG.standard_normal(shape).astype(np.float32))
    calls = [lambda d=d: a.sum(d).numpy() for d in range(len(shape))]
    calls += [
        lambda: a.sum().numpy(),
        lambda: a.var().numpy(),
        lambda: a.logsumexp(0).numpy(),
        lambda: a.argmax().numpy(),
    ]
    calls += [lambda: a.softmax(0).numpy(), lambda: a.cumsum(0).numpy()]
    before = t.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            t.set_num_threads(threads)
            results.append([c() for c in calls])
    finally:
        t.set_num_threads(before)
    for other in results[1:]:
        for x, y in zip(results[0], other):
            np.testing.assert_array_equal(x, y)


def test_out_takes_other_dtypes_where_it_may():
    x = tensor(RNG.standard_normal((4, 5)).astype(np.float32))
    out = t.empty(0, dtype=t.float64)
    assert t.sum(x, 0, out=out) is out and out.dtype == t.float64
    np.testing.assert_allclose(out.numpy(), x.numpy().astype(np.float64).sum(0))
    assert t.any(x, 0, out=t.empty(0, dtype=t.uint8)).tolist() == [1] * 5
    assert t.mean(x, 0, out=t.empty(0, dtype=t.float64)).dtype == t.float64
    with pytest.raises(RuntimeError, match="can't be cast"):
        t.mean(x, 0, out=t.empty(0, dtype=t.int64))
    with pytest.raises(RuntimeError, match="Expected the dtype for input and out to match"):
        t.amax(x, 0, out=t.empty(0, dtype=t.float64))
    with pytest.raises(RuntimeError, match="only supports bool tensor for result"):
        t.any(x, 0, out=t.empty(0))
    columns = t.zeros(5, 8)[:, ::2]
    t.sum(tensor(np.ones((3, 5, 4), np.float32)), 0, out=columns)
    assert columns.tolist() == [[3.0] * 4] * 5


WITNESSED = {
    "sum": lambda x, out: t.sum(x, -1, out=out),
    "sum over rows": lambda x, out: t.sum(x, 0, out=out),
    "mean": lambda x, out: t.mean(x, -1, out=out),
    "amax": lambda x, out: t.amax(x, 0, out=out),
    "var": lambda x, out: t.var(x, 0, out=out),
    "logsumexp": lambda x, out: t.logsumexp(x, -1, out=out),
}


@pytest.mark.skipif(NAME != "taeda", reason="counts Taeda's allocations")
@pytest.mark.parametrize("name", WITNESSED)
def test_reductions_into_out_allocate_nothing(name):
    base = t.ones(600, 500)
    inputs = {
        "transposed": base.t(),
        "sliced": base[:, ::2],
        "expanded": base[:1].expand(400, 500),
        "bfloat16": base.to(t.bfloat16),
    }
    for layout, x in inputs.items():
        rows = "rows" in name or name in ("amax", "var")
        out = t.empty(x.shape[1] if rows else x.shape[0], dtype=x.dtype)
        WITNESSED[name](x, out)
        before = t._C._dispatch._allocator_stats()["num_allocs"]
        WITNESSED[name](x, out)
        assert t._C._dispatch._allocator_stats()["num_allocs"] == before, layout


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_scans_match_numpy(dim):
    for layout, x in layouts(VALUES).items():
        np.testing.assert_allclose(
            x.cumsum(dim).numpy(), VALUES.cumsum(dim), rtol=1e-12, atol=1e-12, err_msg=layout
        )
        np.testing.assert_allclose(
            x.cumprod(dim).numpy(), VALUES.cumprod(dim), rtol=1e-11, atol=1e-300, err_msg=layout
        )
    assert t.tensor([True, True]).cumsum(0).dtype == t.int64


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int16, np.uint8])
def test_sort_is_stable_both_ways(dim, dtype):
    a = RNG.integers(0, 50, (4, 300, 7)).astype(dtype)
    for x in layouts(a).values():
        values, indices = t.sort(x, dim=dim, stable=True)
        np.testing.assert_array_equal(values.numpy(), np.sort(a, dim))
        np.testing.assert_array_equal(indices.numpy(), np.argsort(a, dim, kind="stable"))
        values, indices = t.sort(x, dim=dim, descending=True, stable=True)
        signed = -a.astype(np.int64)
        np.testing.assert_array_equal(values.numpy(), -np.sort(signed, dim))
        np.testing.assert_array_equal(indices.numpy(), np.argsort(signed, dim, kind="stable"))


@pytest.mark.parametrize("n", [5, 1000])
def test_sort_puts_nan_last_and_keeps_zeros_in_order(n):
    a = RNG.standard_normal(n).astype(np.float32)
    a[n // 2] = math.nan
    a[0], a[1] = 0.0, -0.0
    values, indices = tensor(a).sort(stable=True)
    np.testing.assert_array_equal(values.numpy(), np.sort(a))
    np.testing.assert_array_equal(indices.numpy(), np.argsort(a, kind="stable"))
    assert math.isnan(tensor(a).sort(descending=True)[0][0].item())


@pytest.mark.parametrize("k", [1, 16, 100, 300])
def test_topk_is_the_head_of_the_sort(k):
    a = RNG.standard_normal((6, 300)).astype(np.float32)
    for x, dim in ((tensor(a), 1), (tensor(np.ascontiguousarray(a.T)), 0)):
        line = a if dim == 1 else a.T
        for largest in (True, False):
            order = np.argsort(-line if largest else line, axis=dim, kind="stable")
            expected = np.take(order, range(k), axis=dim)
            values, indices = x.topk(k, dim, largest)
            np.testing.assert_array_equal(indices.numpy(), expected)
            np.testing.assert_array_equal(values.numpy(), np.take_along_axis(line, expected, dim))
    with pytest.raises(RuntimeError, match="selected index k out of range"):
        t.topk(tensor(a), 301)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_softmax_matches_numpy(dim):
    e = np.exp(VALUES - VALUES.max(dim, keepdims=True))
    expected = e / e.sum(dim, keepdims=True)
    for layout, x in layouts(VALUES).items():
        np.testing.assert_allclose(t.softmax(x, dim).numpy(), expected, rtol=1e-12, err_msg=layout)
        np.testing.assert_allclose(
            t.log_softmax(x, dim).numpy(), np.log(expected), rtol=1e-11, atol=1e-12, err_msg=layout
        )


def test_softmax_of_large_numbers_and_dtype():
    assert t.softmax(t.tensor([1e4, 1e4]), 0).tolist() == [0.5, 0.5]
    assert t.softmax(t.tensor([1, 1]), 0, dtype=t.float32).tolist() == [0.5, 0.5]
    with pytest.raises(NotImplementedError, match="softmax_lastdim_kernel_impl"):
        t.softmax(t.tensor([1, 2]), 0)


@pytest.mark.parametrize("shape", [(70,), (33, 70)], ids=str)
def test_layer_norm_matches_numpy(shape):
    axes = tuple(range(3 - len(shape), 3))
    centered = VALUES - VALUES.mean(axes, keepdims=True)
    weight, bias = RNG.standard_normal(shape), RNG.standard_normal(shape)
    expected = centered / np.sqrt(VALUES.var(axes, keepdims=True) + 1e-5) * weight + bias
    for layout, x in layouts(VALUES).items():
        got = t.nn.functional.layer_norm(x, shape, tensor(weight), tensor(bias))
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-11, atol=1e-11, err_msg=layout)


def numeric_gradient(f, a, step=1e-6):
    out = np.zeros_like(a)
    for i in np.ndindex(*a.shape):
        up, down = a.copy(), a.copy()
        up[i] += step
        down[i] -= step
        out[i] = (f(tensor(up)).item() - f(tensor(down)).item()) / (2 * step)
    return out


WEIGHTS = tensor(RNG.standard_normal((3, 4)))
DIFFERENTIABLE = {
    "sum": lambda x: (x.sum(0) ** 2).sum(),
    "mean": lambda x: (x.mean(1) ** 3).sum(),
    "prod": lambda x: x.prod() * 2,
    "prod_dim": lambda x: (x.prod(1) ** 2).sum(),
    "amax": lambda x: (x.amax(1) ** 2).sum(),
    "max_dim": lambda x: (x.max(0)[0] ** 2).sum(),
    "min": lambda x: x.min() ** 2,
    "var": lambda x: (x.var(1) ** 2).sum(),
    "std": lambda x: (x.std(0) * x.std()).sum(),
    "var_mean": lambda x: sum(v.sum() ** 2 for v in t.var_mean(x, 0)),
    "logsumexp": lambda x: (x.logsumexp(1) ** 2).sum(),
    "cumsum": lambda x: (x.cumsum(1) ** 2).sum(),
    "cumprod": lambda x: (x.cumprod(1) ** 2).sum(),
    "sort": lambda x: (x.sort(1)[0] ** 2 * WEIGHTS).sum(),
    "topk": lambda x: (x.topk(2, 0)[0] ** 3).sum(),
    "softmax": lambda x: (x.softmax(1) ** 2 * WEIGHTS).sum(),
    "log_softmax": lambda x: (x.log_softmax(0) ** 2 * WEIGHTS).sum(),
    "layer_norm": lambda x: (
        t.nn.functional.layer_norm(x, (4,), WEIGHTS[0], WEIGHTS[1]) ** 2 * WEIGHTS
    ).sum(),
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_first_and_second_derivative(name):
    f = DIFFERENTIABLE[name]
    a = RNG.standard_normal((3, 4))
    x = tensor(a).requires_grad_()
    (first,) = t.autograd.grad(f(x), x, create_graph=True)
    np.testing.assert_allclose(first.detach().numpy(), numeric_gradient(f, a), rtol=1e-5, atol=1e-6)

    def slope(y):
        z = y.detach().requires_grad_()
        return (t.autograd.grad(f(z), z)[0] * WEIGHTS).sum().detach()

    np.testing.assert_allclose(slope(x).item(), (first * WEIGHTS).sum().item(), rtol=1e-9)
    if first.requires_grad:
        (second,) = t.autograd.grad((first * WEIGHTS).sum(), x)
        np.testing.assert_allclose(second.numpy(), numeric_gradient(slope, a), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("zeros", [1, 2])
def test_gradients_of_products_with_zeros(zeros):
    a = RNG.standard_normal((3, 4))
    a.reshape(-1)[:: 12 // zeros] = 0.0
    for f in (lambda x: x.prod(), lambda x: x.prod(1).sum(), lambda x: x.cumprod(1).sum()):
        x = tensor(a).requires_grad_()
        f(x).backward()
        np.testing.assert_allclose(x.grad.numpy(), numeric_gradient(f, a), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("zeros", [[1], [0, 2], [1, 2, 4]])
def test_second_derivatives_of_running_products_with_zeros(zeros):
    a = RNG.standard_normal((2, 5))
    a[:, zeros] = 0.0
    weights = [tensor(RNG.standard_normal((2, 5))) for _ in range(2)]

    def slope(y, create_graph=False):
        y = y if create_graph else y.detach().requires_grad_()
        total = (y.cumprod(1) * weights[0]).sum()
        (found,) = t.autograd.grad(total, y, create_graph=create_graph)
        return (found * weights[1]).sum()

    x = tensor(a).requires_grad_()
    (second,) = t.autograd.grad(slope(x, create_graph=True), x)
    np.testing.assert_allclose(
        second.numpy(), numeric_gradient(lambda y: slope(y).detach(), a), rtol=1e-5, atol=1e-7
    )


def test_ties_share_the_gradient_of_an_extreme():
    x = t.tensor([1.0, 3.0, 3.0], requires_grad=True)
    x.amax().backward()
    assert x.grad.tolist() == [0.0, 0.5, 0.5]
    y = t.tensor([1.0, 3.0, 3.0], requires_grad=True)
    y.max(0)[0].backward()
    assert y.grad.tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("dtype", [t.float32, t.float64])
@pytest.mark.parametrize("end", ["min", "max"])
def test_histc_at_the_ends_of_the_finite_numbers(dtype, end):
    value = getattr(t.finfo(dtype), end)
    assert t.histc(t.full((3,), value, dtype=dtype), 4).sum() == 3


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("n", [2, 7, 64, 1000])
def test_extremes_are_the_elements_at_their_indices(name, n):
    x = t.tensor([[-0.0, 0.0], [0.0, -0.0]]).repeat(1, n)
    for dim in (0, 1):
        values, indices = getattr(x, name)(dim)
        same = x.gather(dim, indices.unsqueeze(dim)).squeeze(dim)
        assert t.equal(t.signbit(values), t.signbit(same))
