"""while_loop as plain Python runs it.

Values and gradients that PyTorch computes are compared by hand-written loops, which both must
equal: PyTorch compiles these operators, and takes a second for each.
"""

import importlib

import pytest
from under_test import NAME, t

while_loop = importlib.import_module(f"{NAME}._higher_order_ops").while_loop
only_taeda = pytest.mark.skipif(NAME != "taeda", reason="PyTorch refuses this")


def positive(x):
    return x.sum() > 0


def test_tensors_and_integers_are_carried():
    x = t.arange(3.0)
    i, y = while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2), (t.tensor(0), x))
    assert i.item() == 3 and t.equal(y, x * 8)
    i, y = while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2), (0, x))
    assert i == 3 and t.equal(y, x * 8)


def test_no_iteration_gives_copies():
    x = t.ones(2)
    _, y = while_loop(lambda i, a: i < 0, lambda i, a: (i + 1, a * 2), (t.tensor(0), x))
    assert t.equal(x, y) and y is not x


def test_nested_state():
    state = {"i": t.tensor(0), "a": t.ones(2)}
    (got,) = while_loop(
        lambda d: d["i"] < 3, lambda d: ({"i": d["i"] + 1, "a": d["a"] + d["i"]},), (state,)
    )
    assert got["i"].item() == 3 and got["a"].tolist() == [4, 4]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((1, abs, ()), RuntimeError, "Expect cond_fn and body_fn to be callable"),
        ((abs, abs, ("a",)), AssertionError, "can only be of"),
    ],
)
def test_arguments_that_do_not_fit(arguments, error, message):
    with pytest.raises(error, match=message):
        while_loop(*arguments)


@only_taeda
@pytest.mark.parametrize(
    ("cond_fn", "body_fn", "error", "message"),
    [
        (lambda a: a < 9, lambda a: (a,), RuntimeError, "cond_fn must return a boolean scalar"),
        (positive, lambda a: a, AssertionError, "body_fn should return a tuple but got"),
        (positive, lambda a: (a, a), AssertionError, "same number of elements"),
        (positive, lambda a: (a[:1] + 1,), RuntimeError, "differ in 'shape: .* vs .*'"),
        (positive, lambda a: (a.int(),), RuntimeError, "'dtype: torch.int32 vs torch.float32'"),
    ],
)
def test_functions_that_do_not_fit(cond_fn, body_fn, error, message):
    with pytest.raises(error, match=message):
        while_loop(cond_fn, body_fn, (t.ones(2),))


def test_gradients():
    w, x = t.ones(3, requires_grad=True), t.ones(3, requires_grad=True)
    _, y = while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, (a * w).sin()), (t.tensor(0), x))
    y.sum().backward()
    v, z = t.ones(3, requires_grad=True), t.ones(3, requires_grad=True)
    a = z
    for _ in range(3):
        a = (a * v).sin()
    a.sum().backward()
    assert t.allclose(w.grad, v.grad) and t.allclose(x.grad, z.grad)


@only_taeda
def test_vmap_runs_until_all_examples_are_done():
    def collatz(n):
        def body(n, steps):
            even = n % 2 == 0
            return t.where(even, n // 2, 3 * n + 1), steps + 1

        return while_loop(lambda n, steps: n != 1, body, (n, t.tensor(0)))[1]

    starts = t.tensor([1, 6, 7, 16])
    assert t.vmap(collatz)(starts).tolist() == [0, 8, 16, 4]
    assert t.vmap(t.vmap(collatz))(starts.view(2, 2)).tolist() == [[0, 8], [16, 4]]
    doubled = t.vmap(lambda a: while_loop(lambda a: a.sum() < 9, lambda a: (a * 2,), (a,))[0])
    assert doubled(t.tensor([[1.0], [5.0]])).tolist() == [[16.0], [10.0]]


@pytest.mark.parametrize(
    ("cond_fn", "body_fn", "message"),
    [
        (lambda i, a: i < 3, lambda i, a: (i + 1, a.add_(1)), "Encountered input mutation"),
        (lambda i, a: i.add_(1) < 3, lambda i, a: (i + 1, a + 1), "Encountered input mutation"),
        (lambda i, a: i < 3, lambda i, a: (i + 1, a), "Encountered aliasing"),
        (lambda i, a: i < 3, lambda i, a: (i + 1, a.view(2)), "Encountered aliasing"),
    ],
)
def test_functions_neither_write_to_inputs_nor_return_them(cond_fn, body_fn, message):
    with pytest.raises(RuntimeError, match=message):
        while_loop(cond_fn, body_fn, (t.tensor(0), t.ones(2)))
