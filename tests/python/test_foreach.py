"""Operators over lists of tensors: equal to the operator for each row, in every way of running."""

import pytest
from under_test import NAME, t

# (operator over lists, its row, arguments beside the first list)
ROWS = {
    "add.List": (t._foreach_add, lambda x, y: x.add(y, alpha=2), "list", {"alpha": 2}),
    "add.Scalar": (t._foreach_add, lambda x, y: x + y, 1.5, {}),
    "add.ScalarList": (t._foreach_add, lambda x, y: x + y, "numbers", {}),
    "add.Tensor": (t._foreach_add, lambda x, y: x + y, "tensor", {}),
    "sub.List": (t._foreach_sub, lambda x, y: x.sub(y, alpha=3), "list", {"alpha": 3}),
    "mul.Scalar": (t._foreach_mul, lambda x, y: x * y, 3, {}),
    "mul.Tensor": (t._foreach_mul, lambda x, y: x * y, "tensor", {}),
    "div.List": (t._foreach_div, lambda x, y: x / y, "list", {}),
    "div.ScalarList": (t._foreach_div, lambda x, y: x / y, "numbers", {}),
    "clamp_min.Scalar": (t._foreach_clamp_min, lambda x, y: x.clamp_min(y), 0.5, {}),
    "maximum.List": (t._foreach_maximum, t.maximum, "list", {}),
    "minimum.List": (t._foreach_minimum, t.minimum, "list", {}),
    "pow.Scalar": (t._foreach_pow, lambda x, y: x**y, 2, {}),
    "pow.List": (t._foreach_pow, lambda x, y: x**y, "list", {}),
    "lerp.Scalar": (
        lambda xs, ys, **kw: t._foreach_lerp(xs, ys, 0.3, **kw),
        lambda x, y: x.lerp(y, 0.3),
        "list",
        {},
    ),
    "addcmul.Scalar": (
        lambda xs, ys: t._foreach_addcmul(xs, ys, ys, 0.5),
        lambda x, y: x.addcmul(y, y, value=0.5),
        "list",
        {},
    ),
    "addcdiv.ScalarList": (
        lambda xs, ys: t._foreach_addcdiv(xs, ys, ys, [0.5] * len(xs)),
        lambda x, y: x.addcdiv(y, y, value=0.5),
        "list",
        {},
    ),
}
# Lists that run at once, and lists that do not.
LISTS = {
    "plain": lambda: [t.rand(3, 4) * 0.5 + 0.4, t.rand(2), t.rand(()), t.rand(0, 3), t.rand(70000)],
    "doubles": lambda: [t.rand(3, dtype=t.float64) + 0.5, t.rand(2, 2, dtype=t.float64)],
    "mixed": lambda: [t.rand(3), t.rand(3, dtype=t.float64), t.rand(4, dtype=t.bfloat16)],
    "number first": lambda: [t.rand(()) + 0.5, t.rand(2, 1, 3) + 0.5],
    "strided": lambda: [t.rand(4, 3).t(), t.rand(6)[::2]],
    "integers": lambda: [t.arange(1, 4), t.arange(1, 7).reshape(2, 3)],
}


def argument(kind, xs):
    """What stands beside the first list, and its part in each row."""
    if kind == "list":
        ys = [x.clone() + 1 for x in xs]
        return ys, ys
    if kind == "numbers":
        numbers = [1 + i for i in range(len(xs))]
        return numbers, numbers
    if kind == "tensor":
        number = t.tensor(2.0)
        return number, [number] * len(xs)
    return kind, [kind] * len(xs)


def assert_rows(results, expected):
    assert len(results) == len(expected)
    for result, wanted in zip(results, expected):
        assert result.dtype == wanted.dtype and result.shape == wanted.shape
        assert t.equal(result, wanted)


@pytest.mark.parametrize("lists", LISTS)
@pytest.mark.parametrize("name", ROWS)
def test_rows_are_those_of_the_operator(name, lists):
    operator, row, kind, options = ROWS[name]
    xs = LISTS[lists]()
    if lists == "integers" and ("lerp" in name or "addcdiv" in name):
        pytest.skip("not for integers")
    given, parts = argument(kind, xs)
    assert_rows(operator(xs, given, **options), [row(x, y) for x, y in zip(xs, parts)])


UNARY = "abs acos ceil cos erf exp expm1 floor log log1p neg reciprocal round rsqrt sigmoid sign"
UNARY += " sin sqrt tan tanh trunc"


@pytest.mark.parametrize("name", UNARY.split())
@pytest.mark.parametrize("lists", ["plain", "mixed", "strided"])
def test_unary_rows(name, lists):
    xs = LISTS[lists]()
    expected = [getattr(t, name)(x) for x in xs]
    assert_rows(getattr(t, f"_foreach_{name}")(xs), expected)
    versions = [x._version for x in xs]
    assert getattr(t, f"_foreach_{name}_")(xs) is xs
    assert_rows(xs, expected)
    assert all(x._version == version + 1 for x, version in zip(xs, versions))


@pytest.mark.parametrize("lists", ["plain", "mixed", "strided"])
def test_in_place_forms_write_into_the_first_list(lists):
    xs = LISTS[lists]()
    ys = [x.clone() for x in xs]
    expected = [x.mul(0.5).add(y, alpha=2).lerp(y, 0.25) for x, y in zip(xs, ys)]
    t._foreach_mul_(xs, 0.5)
    t._foreach_add_(xs, ys, alpha=2)
    t._foreach_lerp_(xs, ys, 0.25)
    assert_rows(xs, expected)


def test_rows_that_meet_run_in_order():
    x = t.zeros(4)
    t._foreach_add_([x, x, x], 1)
    assert x.tolist() == [3, 3, 3, 3]
    a, b = t.tensor([1.0, 2.0]), t.tensor([10.0, 20.0])
    t._foreach_add_([a, b], [b, a])
    assert a.tolist() == [11.0, 22.0] and b.tolist() == [21.0, 42.0]
    base = t.arange(5.0)
    t._foreach_add_([base[:3], base[2:]], 1)
    assert base.tolist() == [1, 2, 4, 4, 5]


def test_copies_zeros_norms_and_maxima():
    xs, ys = [t.zeros(2), t.zeros(3)], [t.ones(2), t.arange(3)]
    t._foreach_copy_(xs, ys)
    assert [x.tolist() for x in xs] == [[1, 1], [0, 1, 2]]
    assert [n.item() for n in t._foreach_norm(xs)] == pytest.approx([2**0.5, 5**0.5])
    assert [n.item() for n in t._foreach_norm(xs, 1)] == [2, 3]
    assert [n.item() for n in t._foreach_max(xs)] == [1, 2]
    t._foreach_zero_(xs)
    assert all((x == 0).all() for x in xs)


def test_gradients_go_through():
    xs = [t.tensor([1.0, 2.0], requires_grad=True), t.tensor([3.0], requires_grad=True)]
    squares = t._foreach_mul(xs, xs)
    sum(s.sum() for s in squares).backward()
    assert xs[0].grad.tolist() == [2.0, 4.0] and xs[1].grad.tolist() == [6.0]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        t._foreach_add_(xs, 1)
    with t.no_grad():
        t._foreach_add_(xs, 1)
    assert xs[0].tolist() == [2.0, 3.0]


# Of [1, 2, 3, nan] and 2: the gradients of both.
AT_TIES = {
    "maximum": ([0, 0.5, 1, 1], [1, 0.5, 0, 1]),
    "minimum": ([1, 0.5, 0, 1], [0, 0.5, 1, 1]),
    "clamp_min": ([0, 1, 1, 0], [1, 0, 0, 0]),
    "clamp_max": ([1, 1, 0, 0], [0, 0, 1, 0]),
}


@pytest.mark.parametrize("name", AT_TIES)
@pytest.mark.parametrize("form", ["list", "in place", "number", "numbers"])
def test_extremes_halve_gradients_at_ties_and_limits_do_not(name, form):
    x = t.tensor([1.0, 2.0, 3.0, float("nan")], requires_grad=True)
    other = t.full((4,), 2.0, requires_grad=True)
    if form == "in place":
        copy = x.clone()
        getattr(t, f"_foreach_{name}_")([copy], [other])
        results = [copy]
    else:
        given = {"list": [other], "number": 2.0, "numbers": [2.0]}[form]
        results = getattr(t, f"_foreach_{name}")([x], given)
    results[0].sum().backward()
    grad, grad_other = AT_TIES[name]
    assert x.grad.tolist() == grad
    assert other.grad is None if form.startswith("number") else other.grad.tolist() == grad_other


def test_extremes_in_place_refuse_what_the_target_does_not_hold():
    with pytest.raises(RuntimeError, match="result type Float can't be cast"):
        t._foreach_maximum_([t.arange(3)], 1.5)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        t._foreach_minimum_([t.ones(2)], [t.ones(3, 2)])
    integers = [t.arange(3)]
    assert t._foreach_maximum_(integers, 1) is integers and integers[0].tolist() == [1, 1, 2]


def test_a_write_is_seen_by_a_graph_that_saved_the_value():
    x = t.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1.0
    z = (y * y).sum()
    with t.no_grad():
        t._foreach_add_([y], 1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


@pytest.mark.skipif(NAME == "torch", reason="PyTorch has no batching rule for them")
def test_under_vmap():
    batch = t.rand(3, 2)
    both = t.func.vmap(lambda x: t._foreach_add([x, x * 2], [x, x])[1])(batch)
    assert t.equal(both, batch * 3)


def test_on_meta():
    xs = [t.empty(2, 3, device="meta"), t.empty(4, device="meta")]
    assert [x.shape for x in t._foreach_exp(xs)] == [(2, 3), (4,)]


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: t._foreach_add([], 1), "Tensor list must have at least one tensor"),
        (
            lambda: t._foreach_add([t.ones(1)], [t.ones(1), t.ones(1)]),
            "Tensor lists must have the same number of tensors, got 1 and 2",
        ),
        (
            lambda: t._foreach_add([t.ones(1)], [1.0, 2.0]),
            "Tensor list must have same number of elements as scalar list",
        ),
    ],
)
def test_refused_lists(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


def test_lists_of_tensors_without_dimensions_are_no_numbers():
    x, y = t.tensor(2.0, requires_grad=True), t.tensor(3.0, requires_grad=True)
    (product,) = t._foreach_mul([x], [y])
    assert [g.item() for g in t.autograd.grad(product, [x, y])] == [3.0, 2.0]


def test_power_sums():
    xs = [t.tensor([1.0, -2.0, 3.0]), t.tensor([[0.0, 2.0]])]
    for order, expected in ((0, [3, 2]), (1, [6, 2]), (2, [14, 4]), (3, [36, 8])):
        assert [s.item() for s in t._foreach_powsum(xs, order)] == expected
    assert t._foreach_powsum(xs, 2, t.float64)[0].dtype is t.float64
    with pytest.raises((RuntimeError, NotImplementedError), match="not implemented for"):
        t._foreach_powsum([t.tensor([1, 2])])


def test_copies_and_products():
    xs = [t.ones(2, 3).T, t.tensor([[1.0, 2.0]])]
    copies = t._foreach_clone(xs)
    assert all(t.equal(c, x) and c.data_ptr() != x.data_ptr() for c, x in zip(copies, xs))
    assert copies[0].stride() == xs[0].stride()
    products = t._foreach_mm(xs, [t.ones(2, 1), t.ones(2, 2)])
    assert all(t.equal(p, x @ t.ones(2, p.shape[1])) for p, x in zip(products, xs))


def test_lgamma():
    xs = [t.tensor([0.5, 3.0]), t.tensor([[7.0]])]
    expected = [x.lgamma() for x in xs]
    assert all(t.equal(a, b) for a, b in zip(t._foreach_lgamma(xs), expected))
    t._foreach_lgamma_(xs)
    assert all(t.equal(a, b) for a, b in zip(xs, expected))


def test_subtraction_refuses_truth_values():
    for x in (t.ones(2), t.ones(2, dtype=t.int64)):
        for call in (t._foreach_sub, t._foreach_sub_):
            with pytest.raises(RuntimeError, match="Subtraction, the `-` operator, with a bool"):
                call([x], True)
            with pytest.raises(RuntimeError, match="Subtraction, the `-` operator, with a bool"):
                call([x], [True])
    assert t._foreach_add([t.ones(2)], True)[0].tolist() == [2, 2]
