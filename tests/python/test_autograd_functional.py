"""Jacobians, Hessians and products with them: values, shapes, histories and strict errors."""

import importlib

import pytest
from under_test import NAME, t

f = importlib.import_module(f"{NAME}.autograd.functional")


def rows(tensor):
    return tensor.tolist()


def test_jacobian_of_one_tensor():
    x = t.tensor([1.0, 2.0, 3.0])
    jacobian = f.jacobian(lambda a: a[:2] * a[1:] ** 2, x)
    assert rows(jacobian) == [[4.0, 4.0, 0.0], [0.0, 9.0, 12.0]]
    assert not jacobian.requires_grad
    assert f.jacobian(lambda a: a.sum(), x).tolist() == [1.0, 1.0, 1.0]
    assert f.jacobian(lambda a: (a,), x)[0].shape == (3, 3)


def test_jacobian_of_several():
    x, y = t.rand(2, 3), t.rand(3)
    found = f.jacobian(lambda a, b: (a @ b, b * 2, a.sum()), (x, y))
    assert [[tuple(j.shape) for j in row] for row in found] == [
        [(2, 2, 3), (2, 3)],
        [(3, 2, 3), (3, 3)],
        [(2, 3), (3,)],
    ]
    assert t.equal(found[0][1], x) and t.equal(found[1][1], 2 * t.eye(3))
    assert not found[1][0].any()


def test_jacobian_is_part_of_the_graph_when_asked():
    x = t.tensor([1.0, 2.0], requires_grad=True)
    jacobian = f.jacobian(lambda a: a**3, x, create_graph=True)
    jacobian.sum().backward()
    assert rows(x.grad) == [6.0, 12.0]


def test_hessian():
    x, y = t.tensor([1.0, 2.0]), t.tensor(3.0)
    assert rows(f.hessian(lambda a: (a**3).sum(), x)) == [[6.0, 0.0], [0.0, 12.0]]
    (xx, xy), (yx, yy) = f.hessian(lambda a, b: (a * a).sum() * b, (x, y))
    assert rows(xx) == [[6.0, 0.0], [0.0, 6.0]] and rows(xy) == [2.0, 4.0]
    assert rows(yx) == [2.0, 4.0] and yy.item() == 0.0
    assert f.hessian(lambda a: (a**3).sum().view(1), x).shape == (2, 2)


def test_products():
    x, y = t.tensor([1.0, 2.0]), t.tensor([3.0, 4.0])
    v, w = t.tensor([1.0, -1.0]), t.tensor([0.5, 2.0])

    def function(a, b):
        return a * b

    out, found = f.vjp(function, (x, y), v)
    assert rows(out) == [3.0, 8.0] and [rows(g) for g in found] == [[3.0, -4.0], [1.0, -2.0]]
    out, found = f.jvp(function, (x, y), (v, w))
    assert rows(found) == [3.5, 0.0]

    def scalar(a, b):
        return (a * a * b).sum()

    out, found = f.vhp(scalar, (x, y), (v, w))
    assert out.item() == 19.0
    assert [rows(g) for g in found] == [[7.0, 0.0], [2.0, -4.0]]
    assert [rows(g) for g in f.hvp(scalar, (x, y), (v, w))[1]] == [[7.0, 0.0], [2.0, -4.0]]
    assert f.vhp(lambda a: a**3, t.tensor(2.0))[1].item() == 12.0


def test_products_are_part_of_the_graph_when_asked():
    x = t.tensor([1.0, 2.0], requires_grad=True)
    v = t.tensor([1.0, 1.0])
    for product, expected in ((f.vjp, [2.0, 2.0]), (f.jvp, [2.0, 2.0])):
        out, found = product(lambda a: a * a, x, v, create_graph=True)
        assert out.requires_grad and found.requires_grad
        x.grad = None
        found.sum().backward()
        assert rows(x.grad) == expected
        assert not product(lambda a: a * a, x, v)[1].requires_grad


def test_captured_input_is_a_constant():
    x = t.tensor(3.0, requires_grad=True)
    assert f.jacobian(lambda a: a * x, x).item() == 3.0


def test_without_recording():
    with t.no_grad():
        assert f.jacobian(lambda a: a * 2, t.tensor(1.0)).item() == 2.0
        assert f.vjp(lambda a: a * a, t.tensor(3.0))[1].item() == 6.0


X, V = t.tensor([1.0, 2.0]), t.tensor([1.0, 1.0])
FAILURES = {
    "inputs": (
        lambda: f.vjp(lambda a: a, 3),
        TypeError,
        "The inputs given to vjp must be either a Tensor or a tuple of Tensors but the given inputs has type",
    ),
    "inputs in a tuple": (
        lambda: f.jvp(lambda a: a, (X, 1)),
        TypeError,
        "the value at index 1 has type",
    ),
    "outputs": (
        lambda: f.jacobian(lambda a: 1, X),
        TypeError,
        "The outputs of the user-provided function given to jacobian must be",
    ),
    "v missing": (
        lambda: f.vjp(lambda a: a, X),
        RuntimeError,
        "The vector v can only be None if the user-provided function returns",
    ),
    "v missing for input": (
        lambda: f.hvp(lambda a: a.sum(), X),
        RuntimeError,
        "The vector v can only be None if the input",
    ),
    "v size": (
        lambda: f.vjp(lambda a: a, X, t.ones(3)),
        RuntimeError,
        "v has invalid size: should be",
    ),
    "v entry size": (
        lambda: f.vjp(lambda a: (a, a), X, (V, t.ones(3))),
        RuntimeError,
        "Entry 1 in v has invalid size",
    ),
    "v length": (
        lambda: f.vjp(lambda a: (a, a), X, V),
        RuntimeError,
        "v is a tuple of invalid length: should be 2 but got 1",
    ),
    "v single": (
        lambda: f.vjp(lambda a: a, X, (V, V)),
        RuntimeError,
        "The given v should contain a single Tensor.",
    ),
    "hessian of many": (
        lambda: f.hessian(lambda a: a, X),
        RuntimeError,
        "given to hessian should contain a single element",
    ),
    "hessian of tuple": (
        lambda: f.hessian(lambda a: (a.sum(),), X),
        RuntimeError,
        "given to hessian should return a single Tensor",
    ),
    "vhp of many": (
        lambda: f.vhp(lambda a: a, X, V),
        RuntimeError,
        "given to vhp should contain a single element",
    ),
    "strategy": (
        lambda: f.jacobian(lambda a: a, X, strategy="sideways"),
        AssertionError,
        "Expected strategy to be either",
    ),
    "forward strict": (
        lambda: f.jacobian(lambda a: a, X, strict=True, strategy="forward-mode", vectorize=True),
        RuntimeError,
        "are not supported together",
    ),
    "forward graph": (
        lambda: f.jacobian(lambda a: a, X, create_graph=True, strategy="forward-mode"),
        NotImplementedError,
        "`create_graph=True` and",
    ),
    "strict output": (
        lambda: f.vjp(lambda a: a.detach(), X, V, strict=True),
        RuntimeError,
        "Output 0 of the user-provided function does not require gradients.",
    ),
    "strict vjp": (
        lambda: f.vjp(lambda a, b: a * 1, (X, V), V, strict=True),
        RuntimeError,
        "The output of the user-provided function is independent of input 1",
    ),
    "strict jvp": (
        lambda: f.jvp(lambda a, b: a * 1, (X, V), (V, V), strict=True),
        RuntimeError,
        "The output of the user-provided function is independent of input 1",
    ),
    "strict jacobian": (
        lambda: f.jacobian(lambda a, b: a * 1, (X, V), strict=True),
        RuntimeError,
        "Output 0 of the user-provided function is independent of input 1",
    ),
    "strict jacobian graph": (
        lambda: f.jacobian(lambda a: a * 2, X, strict=True, create_graph=True),
        RuntimeError,
        "The jacobian of the user-provided function is independent of input 0",
    ),
    "strict hessian": (
        lambda: f.hessian(lambda a: a.sum(), X, strict=True),
        RuntimeError,
        "found that the jacobian of the user-provided function with respect to input 0",
    ),
    "strict vhp": (
        lambda: f.vhp(lambda a: (2 * a).sum(), X, V, strict=True),
        RuntimeError,
        "found that the jacobian of the user-provided function with respect to input 0",
    ),
    "strict vjp graph": (
        lambda: f.vjp(lambda a: a * 2, X, V, strict=True, create_graph=True),
        RuntimeError,
        "is independent of input 0. This is not allowed in strict mode when create_graph=True",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_bad_calls(name):
    call, error, phrase = FAILURES[name]
    with pytest.raises(error) as raised:
        call()
    assert phrase in str(raised.value)
