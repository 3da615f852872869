"""Activations of nn.functional: known values, PyTorch's values and gradients, in-place forms, errors."""

import math

import pytest
from under_test import t

F = t.nn.functional

# Both sides of every bend.
POINTS = [-4.0, -3.0, -1.5, -0.5, -0.25, 0.0, 0.25, 0.5, 1.5, 3.0, 4.0, 25.0]

CALLS = [
    "F.relu(x)",
    "F.relu6(x)",
    "F.hardtanh(x)",
    "F.hardtanh(x, -0.4, 2.0)",
    "F.leaky_relu(x, 0.2)",
    "F.elu(x)",
    "F.elu(x, 0.5)",
    "F.selu(x)",
    "F.celu(x, 0.5)",
    "F.silu(x)",
    "F.mish(x)",
    "F.hardsigmoid(x)",
    "F.hardswish(x)",
    "F.threshold(x, 0.3, -1.0)",
    "F.softplus(x)",
    "F.softplus(x, 2, 1)",
    "F.logsigmoid(x)",
    "F.softsign(x)",
    "F.tanhshrink(x)",
    "F.hardshrink(x, 0.4)",
    "F.softshrink(x, 0.4)",
    "F.glu(x)",
    "F.prelu(x, p)",
    "F.normalize(x, dim=0)",
    "F.normalize(x, 3.0, 0)",
    "F.cosine_similarity(x, x * x - 1, dim=0)",
    "F.pairwise_distance(x, x * x - 1)",
]


def computed(m, call, dtype):
    """Value and gradient of a call in one of the two libraries."""
    x = m.tensor(POINTS, dtype=getattr(m, dtype), requires_grad=True)
    p = m.tensor([0.3], dtype=getattr(m, dtype))
    y = eval(call, {"F": m.nn.functional, "x": x, "p": p})
    weights = m.linspace(1, 2, y.numel(), dtype=y.dtype).reshape(y.shape)
    (y * weights).sum().backward()
    return y.tolist(), x.grad.tolist()


@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-7), ("bfloat16", 1e-2)])
@pytest.mark.parametrize("call", CALLS)
def test_values_and_gradients_are_those_of_pytorch(torch, call, dtype, tolerance):
    for got, want in zip(computed(t, call, dtype), computed(torch, call, dtype)):
        assert got == pytest.approx(want, rel=tolerance, abs=tolerance)


@pytest.mark.parametrize(
    "call, x, want",
    [
        (F.relu6, 7.0, 6.0),
        (F.hardtanh, -3.0, -1.0),
        (F.elu, -1.0, math.exp(-1) - 1),
        (lambda x: F.celu(x, 2.0), -1.0, 2 * (math.exp(-0.5) - 1)),
        (F.mish, 1.0, math.tanh(math.log(1 + math.e))),
        (F.hardsigmoid, 1.5, 0.75),
        (F.hardswish, 1.5, 1.125),
        (F.softplus, 0.0, math.log(2)),
        (F.logsigmoid, -800.0, -800.0),
        (F.softsign, -3.0, -0.75),
        (F.hardshrink, 0.4, 0.0),
        (F.softshrink, 2.0, 1.5),
    ],
)
def test_known_values(call, x, want):
    assert call(t.tensor(x, dtype=t.float64)).item() == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("name", ["relu", "relu6", "hardtanh", "elu", "selu", "celu", "mish"])
def test_in_place(name):
    x = t.tensor([-2.0, 0.5, 7.0])
    wanted = getattr(F, name)(x)
    assert getattr(F, name)(x, inplace=True) is x and x.equal(wanted)


def test_integers_are_clamped_as_integers():
    x = t.tensor([-3, 0, 9])
    assert F.hardtanh(x).tolist() == [-1, 0, 1] and F.relu6(x).tolist() == [0, 0, 6]
    assert F.relu6(x).dtype == t.int64


def test_nan_stays():
    x = t.tensor(float("nan"))
    for f in (F.relu6, F.hardtanh, F.elu, F.hardswish, F.hardshrink, F.softshrink, F.logsigmoid):
        assert f(x).isnan()


def test_a_zero_vector_has_no_direction_and_no_gradient():
    x = t.zeros(2, 3, requires_grad=True)
    F.normalize(x).sum().backward()
    assert x.grad.isfinite().all()
    assert not F.normalize(t.zeros(2, 3)).any()


def test_normalize_writes_out():
    out = t.empty(2)
    assert F.normalize(t.tensor([3.0, 4.0]), dim=0, out=out) is out
    assert out.tolist() == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize(
    "call, kind, phrase",
    [
        (lambda x: F.hardtanh(x, 1.0, -1.0), ValueError, "min_val cannot be greater than max_val"),
        (lambda x: F.hardtanh(x.bool()), RuntimeError, "Bool inputs not supported for hardtanh"),
        (lambda x: F.hardtanh(x.to(t.uint8)), RuntimeError, "cannot do hardtanh on an unsigned"),
        (lambda x: F.celu(x, 0.0), RuntimeError, "ZeroDivisionError: alpha cannot be 0 for CELU"),
        (lambda x: F.softshrink(x, -1.0), RuntimeError, "lambda must be in range"),
        (lambda x: F.glu(x.sum()), RuntimeError, "halving size must be even"),
        (lambda x: F.glu(x), RuntimeError, "Halving dimension must be even, but dimension 0"),
        (lambda x: F.elu(x.long()), NotImplementedError, "not implemented for 'Long'"),
        (lambda x: F.prelu(x, t.ones(2)), RuntimeError, "Mismatch of parameter numbers"),
    ],
)
def test_errors(call, kind, phrase):
    with pytest.raises(kind, match=phrase):
        call(t.ones(3))


def test_overrides_see_the_function():
    class Seen(t.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func, kwargs

    x = t.ones(2).as_subclass(Seen)
    assert F.hardtanh(x, 0.0) == (F.hardtanh, {"min_val": 0.0, "max_val": 1.0, "inplace": False})
    assert F.hardtanh.__module__ == "taeda.nn.functional"


def test_in_place_operators_are_found():
    assert F.threshold_ is t.threshold_ and F.selu_ is t.selu_
    assert F.cosine_similarity is t.cosine_similarity


def test_gates_and_norms_take_no_integers():
    with pytest.raises(NotImplementedError, match="glu"):
        t.nn.functional.glu(t.tensor([1, 2]))
    with pytest.raises(RuntimeError, match="Expected a floating point or complex tensor"):
        t.nn.functional.normalize(t.tensor([1, 2]), dim=0)
