"""The gradients of convolutions as functions, and causal masks by name."""

import importlib

import pytest

import taeda as t

nn, F = t.nn, t.nn.functional

SETTINGS = [
    {},
    {"stride": 2, "padding": 1},
    {"stride": 3, "dilation": 2, "padding": 2},
    {"groups": 2, "padding": 1},
]


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("settings", SETTINGS)
def test_gradients_of_convolutions(ndim, settings):
    groups = settings.get("groups", 1)
    x = t.randn(2, 4, *[8] * ndim, dtype=t.float64, requires_grad=True)
    weight = t.randn(6, 4 // groups, *[3] * ndim, dtype=t.float64, requires_grad=True)
    output = getattr(F, f"conv{ndim}d")(x, weight, **settings)
    grad = t.randn_like(output)
    expected = t.autograd.grad(output, (x, weight), grad)
    by_input = getattr(nn.grad, f"conv{ndim}d_input")(x.shape, weight, grad, **settings)
    by_weight = getattr(F.grad, f"conv{ndim}d_weight")(x, weight.shape, grad, **settings)
    assert t.allclose(by_input, expected[0]) and t.allclose(by_weight, expected[1])


def test_settings_of_each_dimension():
    x, weight = t.randn(1, 2, 7, 9), t.randn(3, 2, 2, 3)
    settings = {"stride": (1, 2), "padding": (0, 1), "dilation": [2, 1]}
    grad = t.randn_like(F.conv2d(x, weight, **settings))
    assert nn.grad.conv2d_input(x.shape, weight, grad, **settings).shape == x.shape
    assert nn.grad.conv2d_weight(x, weight.shape, grad, **settings).shape == weight.shape


# ---- causal masks ----
from taeda.nn.attention.bias import (  # noqa: E402
    CausalBias,
    CausalVariant,
    causal_lower_right,
    causal_upper_left,
)


@pytest.mark.parametrize("queries, keys", [(3, 3), (2, 4), (4, 2)])
@pytest.mark.parametrize("name", ["upper_left", "lower_right"])
@pytest.mark.filterwarnings("ignore:Lower right")
def test_causal_masks_are_pytorchs(torch, name, queries, keys):
    def results(lib):
        made = getattr(lib.nn.attention.bias, f"causal_{name}")(queries, keys)
        q, k = lib.arange(queries * 8.0).reshape(1, 2, queries, 4).sin(), lib.ones(1, 2, keys, 4)
        v = lib.arange(keys * 8.0).reshape(1, 2, keys, 4).cos()
        attend = lib.nn.functional.scaled_dot_product_attention
        return repr(made), attend(q, k, v, made), attend(q, k, v, attn_mask=made, scale=0.3)

    importlib.import_module("torch.nn.attention.bias")

    ours, theirs = results(t), results(torch)
    assert ours[0] == theirs[0]
    for got, expected in zip(ours[1:], theirs[1:], strict=True):
        assert t.allclose(got, t.tensor(expected.tolist()), atol=1e-6, equal_nan=True)


def test_what_causal_masks_refuse():
    q = t.ones(1, 1, 2, 4)
    with pytest.raises(ValueError, match="CausalBias should not be used with causal=True"):
        F.scaled_dot_product_attention(q, q, q, causal_upper_left(2, 2), is_causal=True)
    with pytest.raises(AssertionError, match="causal_lower_right only supports 2D tensors"):
        causal_lower_right(2)
    with pytest.raises(AssertionError, match="variant must be a CausalVariant, got int"):
        CausalBias(1, 2, 2)
    with pytest.warns(UserWarning, match="will produce NaNs in the output"):
        CausalBias(CausalVariant.LOWER_RIGHT, 3, 2)
