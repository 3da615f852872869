"""cond as plain Python runs it.

Values and gradients that PyTorch computes are compared by hand-written loops, which both must
equal: PyTorch compiles these operators, and takes a second for each.
"""

import importlib

import pytest
from under_test import NAME, t

only_taeda = pytest.mark.skipif(NAME != "taeda", reason="PyTorch refuses this")


def positive(x):
    return x.sum() > 0


def test_the_branch_that_the_predicate_names():
    x = t.arange(3.0)
    for sign, expected in ((1, x.sin()), (-1, (-x).cos())):
        got = t.cond(positive(sign * x), lambda a: a.sin(), lambda a: a.cos(), (sign * x,))
        assert t.equal(got, expected)


def test_python_predicates_and_closures():
    x = t.ones(2)
    assert t.equal(t.cond(True, lambda: x + 1, lambda: x - 1), x + 1)
    assert t.equal(t.cond(0, lambda a: a + 1, lambda a: a - 1, [x]), x - 1)
    assert t.equal(t.cond(positive(x), lambda: x + 1, lambda: x - 1), x + 1)


def test_nested_operands_and_results():
    x = t.arange(3.0)
    got = t.cond(
        positive(x),
        lambda d: {"a": d["x"] + 1, "b": (d["x"] * 2,)},
        lambda d: {"a": d["x"] - 1, "b": (d["x"] * 3,)},
        ({"x": x},),
    )
    assert t.equal(got["a"], x + 1) and t.equal(got["b"][0], x * 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a", abs, abs), "Expected pred to be bool or tensor, but got a"),
        ((t.ones(2) > 0, abs, abs), "Expected pred to be bool or single-element tensor"),
        ((t.ones(1) > 0, 1, abs), "Expect both branches to be callable"),
        ((t.ones(1) > 0, abs, abs, t.ones(1)), "Expect operands to be a tuple of possibly"),
        ((t.ones(1) > 0, abs, abs, (1,)), "that only consists of tensor leaves"),
    ],
)
def test_arguments_that_do_not_fit(arguments, message):
    with pytest.raises(RuntimeError, match=message):
        t.cond(*arguments)


def test_gradients_of_operands_and_closures():
    w, x = t.full((3,), 0.5, requires_grad=True), t.ones(3, requires_grad=True)
    t.cond(positive(x), lambda a: (a * w).sin(), lambda a: a.cos(), (x,)).sum().backward()
    assert t.allclose(w.grad, t.full((3,), 0.5).cos())
    assert t.allclose(x.grad, 0.5 * t.full((3,), 0.5).cos())


def test_vmap_selects_by_example():
    x = t.tensor([[1.0, 2.0], [-1.0, -2.0], [3.0, 1.0]])
    got = t.vmap(lambda a: t.cond(positive(a), lambda b: b * 2, lambda b: b - 1, (a,)))(x)
    assert t.equal(got, t.stack([x[0] * 2, x[1] - 1, x[2] * 2]))


@only_taeda
def test_vmap_with_several_results_nested_twice_and_with_gradients():
    x = t.tensor([[[1.0], [-2.0]], [[-3.0], [4.0]]])

    def one(a):
        return t.cond(positive(a), lambda b: (b * 2, b**2), lambda b: (b - 1, b**3), (a,))

    doubled, power = t.vmap(t.vmap(one))(x)
    assert doubled.tolist() == [[[2.0], [-3.0]], [[-4.0], [8.0]]]
    assert power.tolist() == [[[1.0], [-8.0]], [[-27.0], [16.0]]]
    gradient = t.vmap(t.vmap(t.func.grad(lambda a: one(a)[1].sum())))(x)
    assert gradient.tolist() == [[[2.0], [12.0]], [[27.0], [8.0]]]


@only_taeda
@pytest.mark.parametrize(
    ("true_fn", "message"),
    [
        (lambda a: (a + 1, a * 2), "Unmatched output spec from torch.cond branches"),
        (lambda a: a.double(), "expected same dtype but got torch.float64 and torch.float32"),
        (lambda a: a[:2] + 1, "expected same shape"),
    ],
)
def test_vmap_wants_branches_that_agree(true_fn, message):
    def one(a):
        return t.cond(positive(a), true_fn, lambda b: b + 1, (a,))

    with pytest.raises(RuntimeError, match=message):
        t.vmap(one)(t.ones(2, 3))


@only_taeda
def test_transforms():
    x = t.tensor([1.0, 2.0])

    def f(a):
        return t.cond(positive(x), lambda b: b.sin().sum(), lambda b: b.cos().sum(), (a,))

    assert t.allclose(t.func.grad(f)(x), x.cos())
    assert t.allclose(t.func.jvp(f, (x,), (t.ones(2),))[1], x.cos().sum())


@only_taeda
def test_without_values_both_branches_run_and_must_agree():
    pred, x = t.empty((), dtype=t.bool, device="meta"), t.empty(3, device="meta")
    got = t.cond(pred, lambda a: a + 1, lambda a: a * 2, (x,))
    assert got.is_meta and got.shape == (3,)
    with pytest.raises(RuntimeError, match="expected same dim but got 0 and 1"):
        t.cond(pred, lambda a: a.sum(), lambda a: a * 2, (x,))


def twice_the_same(a):
    b = a + 1
    return b, b.view(2)


@pytest.mark.parametrize(
    ("branch", "message"),
    [
        (lambda a: a.add_(1).sin(), "Encountered input mutation"),
        (lambda a: a, "Encountered aliasing"),
        (lambda a: a.view(2), "Encountered aliasing"),
        (twice_the_same, "Encountered aliasing"),
    ],
)
def test_branches_neither_write_to_inputs_nor_return_them(branch, message):
    x = t.ones(2)
    with pytest.raises(RuntimeError, match=message):
        t.cond(positive(x), branch, branch, (x,))


@only_taeda
def test_vmap_wants_branches_of_one_structure():
    def one(a):
        return t.cond(positive(a), lambda b: [b + 1], lambda b: (b + 1,), (a,))

    with pytest.raises(RuntimeError, match="Expected branches to return the same pytree structure"):
        t.vmap(one)(t.ones(2, 3))


@only_taeda
def test_inference_mode():
    with t.inference_mode():
        x = t.ones(2)
        got = t.cond(positive(x), lambda a: a + 1, lambda a: a - 1, (x,))
        assert got.tolist() == [2, 2]
        with pytest.raises(RuntimeError, match="Encountered aliasing"):
            t.cond(positive(x), lambda a: a, lambda a: a - 1, (x,))


def test_a_mode_may_answer_without_the_branches():
    class Answers(importlib.import_module(f"{NAME}.utils._python_dispatch").TorchDispatchMode):
        supports_higher_order_operators = True

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return t.zeros(2) if func is t.ops.higher_order.cond else NotImplemented

    pred, x = t.tensor(True), t.ones(1)
    with Answers():
        result = t.cond(pred, lambda x: x.sin(), lambda x: x.cos(), (x,))
    assert t.equal(result, t.zeros(2))


def test_a_predicate_of_python_is_warned_of():
    with pytest.warns(UserWarning, match="Pred is a Python constant"):
        assert t.cond(True, lambda x: x + 1, lambda x: x, (t.zeros(1),)).item() == 1
