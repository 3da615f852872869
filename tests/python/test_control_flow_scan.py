"""scan as plain Python runs it.

Values and gradients that PyTorch computes are compared by hand-written loops, which both must
equal: PyTorch compiles these operators, and takes a second for each.
"""

import importlib

import pytest
from under_test import NAME, t

scan = importlib.import_module(f"{NAME}._higher_order_ops").scan
only_taeda = pytest.mark.skipif(NAME != "taeda", reason="PyTorch refuses this")


def step_of_sums(carry, x):
    return carry + x, carry * x


def test_values():
    xs = t.arange(6.0).view(3, 2)
    carry, out = scan(step_of_sums, t.zeros(2), xs)
    assert carry.tolist() == [6, 9] and out.tolist() == [[0, 0], [0, 3], [8, 20]]
    carry, out = scan(step_of_sums, t.zeros(2), xs, reverse=True)
    assert carry.tolist() == [6, 9] and out.tolist() == [[0, 8], [8, 15], [0, 0]]
    carry, out = scan(step_of_sums, t.zeros(3), xs, dim=1)
    assert carry.tolist() == [1, 5, 9] and out.tolist() == [[0, 0], [0, 6], [0, 20]]


def test_nested_state_inputs_and_results():
    xs = t.arange(6.0).view(3, 2)

    def step(carry, x):
        return {"s": carry["s"] + x[0]}, [x[0] * x[1], x[1] + 1]

    carry, (first, second) = scan(step, {"s": t.zeros(2)}, (xs, xs + 1))
    assert carry["s"].tolist() == [6, 9]
    assert t.equal(first, xs * (xs + 1)) and t.equal(second, xs + 2)
    init = t.zeros(1)
    assert scan(step, init, []) == (init, [])


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((3, t.zeros(2), t.ones(3, 2)), {}, "Combine_fn must be a callable, but got 3"),
        ((max, t.zeros(2), t.ones(3, 2)), {"dim": 1.5}, "Dim must be an int"),
        ((max, t.zeros(2), t.ones(3, 2)), {"reverse": 1}, "Reverse must be a bool"),
        ((max, [], t.ones(3, 2)), {}, r"scan\(\) operator requires init leaves"),
        ((max, 1.0, t.ones(3, 2)), {}, "All init leaves must be a Tensor but got 1.0"),
        ((max, t.zeros(2), t.ones(0, 2)), {}, "scan dimension > 0"),
    ],
)
def test_arguments_that_do_not_fit(arguments, options, message):
    with pytest.raises(RuntimeError, match=message):
        scan(*arguments, **options)
    with pytest.raises(IndexError, match="Dimension out of range"):
        scan(max, t.zeros(2), t.ones(3, 2), dim=4)


@only_taeda
@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda c, x: (c.sum(), x), "Expected init and carry to have same metadata"),
        (lambda c, x: (c.double(), x), "'dtype: torch.float32 vs torch.float64'"),
        (lambda c, x: ((c, c), x), "to have same number of outputs"),
        (lambda c, x: ([c], x), "to have same structure"),
        (lambda c, x: c + x, "must return a carry and an output"),
    ],
)
def test_functions_that_do_not_fit(step, message):
    with pytest.raises(RuntimeError, match=message):
        scan(step, t.zeros(2), t.ones(3, 2))


def test_gradients():
    xs = t.arange(6.0).view(3, 2).requires_grad_()
    init, w = t.zeros(2, requires_grad=True), t.ones(2, requires_grad=True)
    carry, out = scan(lambda c, x: ((c * w + x).sin(), c * x), init, xs)
    got = t.autograd.grad(carry.sum() + out.sum(), (init, w, xs))
    carry, total = init, 0
    for x in xs.unbind():
        total = total + (carry * x).sum()
        carry = (carry * w + x).sin()
    expected = t.autograd.grad(carry.sum() + total, (init, w, xs))
    assert all(t.allclose(a, b) for a, b in zip(got, expected))


@only_taeda
def test_vmap():
    xs = t.arange(6.0).view(3, 2)
    carry, out = t.vmap(lambda x: scan(step_of_sums, t.zeros(()), x))(xs)
    assert carry.tolist() == [1, 5, 9] and out.tolist() == [[0, 0], [0, 6], [0, 20]]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda c, x: (c.add_(x), x + 1), "Encountered input mutation"),
        (lambda c, x: (c + 1, x.add_(1) + 1), "Encountered input mutation"),
        (lambda c, x: (c, x + 1), "Encountered aliasing"),
        (lambda c, x: (c + x, x), "Encountered aliasing"),
        (lambda c, x: (c + x,) * 2, "Encountered aliasing"),
    ],
)
def test_functions_neither_write_to_inputs_nor_return_them(step, message):
    with pytest.raises(RuntimeError, match=message):
        scan(step, t.zeros(2), t.ones(3, 2))
