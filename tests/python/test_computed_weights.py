"""Layers use the weight that reading `layer.weight` gives, whoever computes it."""

import pytest
from under_test import t

nn = t.nn
X = {"Linear": (3, 4), "Conv1d": (2, 4, 5), "ConvTranspose1d": (2, 4, 5), "LayerNorm": (3, 4)}
ARGUMENTS = {
    "Linear": (4, 4),
    "Conv1d": (4, 4, 1),
    "ConvTranspose1d": (4, 4, 1),
    "LayerNorm": (4,),
}


def with_getattr(base):
    class Layer(base):
        def __getattr__(self, name):
            value = super().__getattr__(name)
            return value * 0 if name == "weight" else value

    return Layer


def with_property(base):
    class Layer(base):
        @property
        def weight(self):
            return self._parameters["weight"] * 0

    return Layer


def with_getattribute(base):
    class Layer(base):
        def __getattribute__(self, name):
            if name == "bias":
                return t.ones(4)
            if name == "weight":
                return super().__getattr__("weight") * 0
            return super().__getattribute__(name)

    return Layer


@pytest.mark.parametrize("name", X)
@pytest.mark.parametrize("change", [with_getattr, with_property, with_getattribute])
def test_by_the_class(name, change):
    layer = getattr(nn, name)(*ARGUMENTS[name])
    layer.__class__ = change(type(layer))
    x = t.randn(X[name])
    bias = layer.bias.reshape((-1, 1) if x.dim() == 3 else (-1,))
    assert t.equal(layer(x), bias.expand_as(x))


@pytest.mark.parametrize("name", X)
@pytest.mark.parametrize("member", ["weight", "bias"])
def test_by_the_instance(name, member):
    layer = getattr(nn, name)(*ARGUMENTS[name])
    x = t.randn(X[name])
    before = layer(x)
    value = getattr(layer, member)
    layer.__dict__[member] = value + 1
    changed = layer(x)
    assert not t.allclose(before, changed)
    del layer.__dict__[member]
    assert t.equal(layer(x), before)


def test_a_parameter_that_is_none():
    layer = nn.Linear(4, 4)
    layer.bias = None
    x = t.randn(2, 4)
    assert t.allclose(layer(x), x @ layer.weight.T)
