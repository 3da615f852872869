"""Tests the older spectral_norm and weight_norm, which are hooks; passes on PyTorch as well."""

import pytest
from under_test import NAME, t

nn, utils = t.nn, t.nn.utils


def test_spectral_norm_members():
    layer = utils.spectral_norm(nn.Linear(3, 4))
    assert [name for name, _ in layer.named_parameters()] == ["bias", "weight_orig"]
    assert [name for name, _ in layer.named_buffers()] == ["weight_u", "weight_v"]
    assert layer.weight_u.shape == (4,) and layer.weight_v.shape == (3,)
    state = layer.state_dict()
    assert state._metadata[""]["spectral_norm"] == {"weight.version": 1}


def test_spectral_norm_divides_by_the_norm():
    layer = utils.spectral_norm(nn.Linear(3, 4), n_power_iterations=100)
    layer(t.randn(2, 3))
    u, v = layer.weight_u, layer.weight_v
    assert t.allclose(u @ layer.weight.detach() @ v, t.tensor(1.0), atol=1e-5)
    layer(t.randn(2, 3)).sum().backward()
    assert layer.weight_orig.grad is not None


def test_spectral_norm_is_removed():
    layer = utils.spectral_norm(nn.Linear(3, 4))
    layer.eval()
    layer(t.randn(2, 3))
    value = layer.weight.detach().clone()
    utils.remove_spectral_norm(layer)
    assert isinstance(layer.weight, nn.Parameter) and t.allclose(layer.weight, value)
    assert not layer._forward_pre_hooks and not layer._state_dict_hooks
    if NAME == "taeda":  # PyTorch leaves the hook of load_state_dict
        assert not layer._load_state_dict_pre_hooks
    with pytest.raises(ValueError, match="spectral_norm of 'weight' not found in"):
        utils.remove_spectral_norm(layer)


def test_spectral_norm_state():
    layer = utils.spectral_norm(nn.Linear(3, 4))
    other = utils.spectral_norm(nn.Linear(3, 4))
    other.load_state_dict(layer.state_dict())
    x = t.randn(2, 3)
    assert t.allclose(layer.eval()(x), other.eval()(x))


def test_spectral_norm_refuses():
    layer = utils.spectral_norm(nn.Linear(3, 4))
    with pytest.raises(RuntimeError, match="Cannot register two spectral_norm hooks"):
        utils.spectral_norm(layer)
    with pytest.raises(ValueError, match="parameter `bias` is None"):
        utils.spectral_norm(nn.Linear(2, 2, bias=False), "bias")
    with pytest.raises(ValueError, match="can't have uninitialized parameters"):
        utils.spectral_norm(nn.LazyLinear(2))


def test_weight_norm():
    layer = nn.Linear(3, 4)
    value = layer.weight.detach().clone()
    with pytest.warns(FutureWarning, match="deprecated in favor of"):
        utils.weight_norm(layer)
    assert layer.weight_g.shape == (4, 1) and t.allclose(layer.weight, value, atol=1e-6)
    with t.no_grad():
        layer.weight_g.mul_(2)
    layer(t.randn(1, 3))
    assert t.allclose(layer.weight, 2 * value, atol=1e-6)
    utils.remove_weight_norm(layer)
    assert isinstance(layer.weight, nn.Parameter) and not layer._forward_pre_hooks


def test_weight_norm_that_is_not_there():
    with pytest.raises(ValueError, match="weight_norm of 'weight' not found in"):
        utils.remove_weight_norm(nn.Linear(2, 2))
