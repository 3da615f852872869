"""associative_scan as plain Python runs it.

Values and gradients that PyTorch computes are compared by hand-written loops, which both must
equal: PyTorch compiles these operators, and takes a second for each.
"""

import importlib

import pytest
from under_test import NAME, t

associative_scan = importlib.import_module(f"{NAME}._higher_order_ops").associative_scan
only_taeda = pytest.mark.skipif(NAME != "taeda", reason="PyTorch refuses this")


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 13])
@pytest.mark.parametrize("reverse", [False, True])
def test_sums(count, reverse):
    xs = t.arange(2.0 * count).view(2, count)
    got = associative_scan(t.add, xs, 1, reverse=reverse, combine_mode="generic")
    expected = xs.flip([1]).cumsum(1).flip([1]) if reverse else xs.cumsum(1)
    assert t.equal(got, expected)


def test_a_recurrence_and_its_gradient():
    a = t.linspace(0.1, 0.9, 7, dtype=t.float64).requires_grad_()
    b = t.linspace(1, 2, 7, dtype=t.float64).requires_grad_()

    def combine(x, y):
        return x[0] * y[0], y[0] * x[1] + y[1]

    _, got = associative_scan(combine, (a, b), 0, combine_mode="generic")
    state, expected = t.zeros((), dtype=t.float64), []
    for i in range(7):
        state = a[i] * state + b[i]
        expected.append(state)
    expected = t.stack(expected)
    assert t.allclose(got, expected)
    gradients = t.autograd.grad(got.sum(), (a, b)), t.autograd.grad(expected.sum(), (a, b))
    assert all(t.allclose(x, y) for x, y in zip(*gradients))


def test_a_product_of_matrices():
    xs = t.arange(20.0).view(5, 2, 2) / 10
    got = associative_scan(t.matmul, xs, 0, combine_mode="generic")
    product = xs[0]
    for i in range(1, 5):
        product = product @ xs[i]
    assert t.allclose(got[-1], product)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((3, t.ones(2), 0), ValueError, "Combine_fn must be a callable, but got 3"),
        ((t.add, t.ones(2), 0, False, "x"), ValueError, "must either 'pointwise' or 'generic'"),
        ((t.add, t.ones(0), 0, False, "generic"), ValueError, "scan dimension > 0"),
        ((t.add, t.ones(2), 3, False, "generic"), IndexError, "Dimension out of range"),
    ],
)
def test_arguments_that_do_not_fit(arguments, error, message):
    with pytest.raises(error, match=message):
        associative_scan(*arguments)


@only_taeda
def test_pointwise_functions_see_many_slices():
    sizes = []

    def combine(x, y):
        sizes.append(len(x))
        return x * y

    xs = t.arange(1.0, 9)
    assert t.equal(associative_scan(combine, xs, 0), xs.cumprod(0))
    assert sizes == [4, 2, 1, 1, 3]
    with pytest.raises(RuntimeError, match="to have same number of outputs"):
        associative_scan(lambda x, y: (x, y), xs, 0)
    got = t.vmap(lambda x: associative_scan(t.add, x, 0, combine_mode="generic"))(xs.view(2, 4))
    assert t.equal(got, xs.view(2, 4).cumsum(1))
