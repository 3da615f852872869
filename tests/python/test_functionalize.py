"""functionalize: in-place operators and views as functions of values."""

import pytest
from taeda.func import functionalize, grad, vmap

import taeda

REMOVE = ["mutations", "mutations_and_views"]


def views(x):
    y = x.clone()
    y[0].add_(1)
    y.t()[1].mul_(2)
    z = y.view(-1)
    y.sub_(1)
    z[2:4].fill_(7)
    y.transpose_(0, 1)
    y[0] = taeda.tensor([1.0, 2.0])
    return y, z, y.diagonal()


def shapes(x):
    y = x * 2
    y.unsqueeze_(0)
    y.add_(1)
    y.squeeze_(0).t_()
    return y


def fills(x):
    y = taeda.zeros(2, 3)
    y.copy_(x)
    y[:, 1].zero_()
    w = taeda.empty(3)
    w.fill_(2.0)
    taeda.add(w, y[0], out=w)
    y.index_put_((taeda.tensor([0]),), w)
    return y, w


@pytest.mark.parametrize("remove", REMOVE)
@pytest.mark.parametrize("f", [views, shapes, fills])
def test_same_results(f, remove):
    x = taeda.arange(6.0).view(2, 3)
    expected, got = f(x.clone()), functionalize(f, remove=remove)(x.clone())
    expected = expected if isinstance(expected, tuple) else (expected,)
    got = got if isinstance(got, tuple) else (got,)
    assert len(got) == len(expected)
    assert all(taeda.equal(a, b) for a, b in zip(got, expected))


@pytest.mark.parametrize("remove", REMOVE)
def test_arguments_are_written_once(remove):
    def f(a, b):
        a.add_(1)
        a[0].mul_(b)
        a.view(-1)[1:].sub_(2)
        return a.sum()

    x = taeda.ones(2, 2)
    version = x._version
    expected = taeda.ones(2, 2)
    total = f(expected, 3)
    assert functionalize(f, remove=remove)(x, 3).item() == total.item()
    assert taeda.equal(x, expected) and x._version == version + 1


def test_an_argument_given_twice_is_one_tensor():
    def f(a, b):
        a.add_(1)
        return b * 2

    x = taeda.zeros(2)
    assert functionalize(f)(x, x).tolist() == [2.0, 2.0]


def test_with_other_transforms():
    def f(x):
        y = x * 1
        y[1:].mul_(x[:-1])
        return y.sum()

    x = taeda.tensor([1.0, 2.0, 3.0])
    expected = grad(f)(x)
    assert taeda.equal(grad(functionalize(f))(x), expected)
    assert taeda.equal(functionalize(grad(f))(x), expected)
    xs = taeda.stack([x, x * 2])
    assert taeda.equal(vmap(functionalize(f))(xs), vmap(f)(xs))
    assert taeda.equal(functionalize(vmap(f))(xs), vmap(f)(xs))


def test_refusals():
    with pytest.raises(RuntimeError, match="received invalid argument for remove=all"):
        functionalize(lambda x: x, remove="all")
    captured = taeda.zeros(2)
    with pytest.raises(RuntimeError, match="to a tensor that it captured"):
        functionalize(lambda x: captured.add_(x))(taeda.ones(2))
