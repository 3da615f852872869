"""Older forms of calls, in which a factor comes before the tensors: taken, with a warning."""

import warnings

import pytest
from under_test import t


@pytest.fixture(autouse=True)
def told_always():
    before = t.is_warn_always_enabled()
    t.set_warn_always(True)
    yield
    t.set_warn_always(before)


X, M = t.arange(4.0).view(2, 2), t.tensor([[1.0, 2.0], [3.0, 4.0]])
V, B = t.tensor([1.0, 2.0]), t.ones(3, 2, 2)

CALLS = {
    "add": (lambda: t.add(X, 2, M), lambda: X + 2 * M),
    "add_": (lambda: X.clone().add_(0.5, M), lambda: X + 0.5 * M),
    "sub": (lambda: X.sub(2, M), lambda: X - 2 * M),
    "addcmul": (lambda: t.addcmul(X, 3, M, M), lambda: X + 3 * M * M),
    "addcmul_": (lambda: X.clone().addcmul_(3, M, M), lambda: X + 3 * M * M),
    "addcdiv": (lambda: t.addcdiv(X, 3, M, M, out=t.empty(2, 2)), lambda: X + 3),
    "addmm": (lambda: t.addmm(2, X, 3, M, M), lambda: 2 * X + 3 * M @ M),
    "addmm of beta": (lambda: X.addmm(2, M, M), lambda: 2 * X + M @ M),
    "addmm_": (lambda: X.clone().addmm_(2, 3, M, M), lambda: 2 * X + 3 * M @ M),
    "addmv": (lambda: t.addmv(2, V, 3, M, V), lambda: 2 * V + 3 * M @ V),
    "addr": (lambda: t.addr(2, X, V, V), lambda: 2 * X + t.outer(V, V)),
    "addbmm": (lambda: t.addbmm(2, X, 3, B, B), lambda: 2 * X + 3 * (B @ B).sum(0)),
    "baddbmm": (lambda: t.baddbmm(2, B, 3, B, B), lambda: 2 * B + 3 * B @ B),
}


@pytest.mark.parametrize("name", CALLS)
def test_older_forms(name):
    older, plain = CALLS[name]
    operator = name.split()[0]
    with pytest.warns(UserWarning, match=f"This overload of {operator} is deprecated"):
        found = older()
    t.testing.assert_close(found, plain())


def test_the_warning_says_what_to_write():
    with pytest.warns(UserWarning) as told:
        X.clone().addcmul_(2, M, M)
    text = str(told[0].message)
    assert "\n\taddcmul_(Number value, Tensor tensor1, Tensor tensor2)\n" in text
    assert "instead:\n\taddcmul_(Tensor tensor1, Tensor tensor2, *, Number value = 1)" in text


def test_it_is_said_once():
    t.set_warn_always(False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X.addcmul(2, M, M)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X.addcmul(2, M, M)


def test_gradients():
    x, y = X.clone().requires_grad_(), M.clone().requires_grad_()
    t.add(x, 3, y).sum().backward()
    assert x.grad.eq(1).all() and y.grad.eq(3).all()


def test_errors_do_not_show_them():
    with pytest.raises(
        TypeError, match=r"addcmul\(\): argument 'tensor1' \(position 2\) must be Tensor, not int"
    ):
        t.addcmul(X, 2, M)
    with pytest.raises(TypeError, match="takes 3 positional arguments but 4 were given"):
        t.addcmul(X, 1, 2, 3)


def test_subtract_takes_its_factor_by_position():
    x = t.zeros(2)
    assert x.subtract(2, 3).tolist() == t.subtract(x, 2, 3).tolist() == [-6, -6]
    assert x.subtract_(2, 3) is x and x.tolist() == [-6, -6]
    with pytest.raises(TypeError, match=r"\(Number other, Number alpha = 1\)"):
        x.subtract(x, 2)
