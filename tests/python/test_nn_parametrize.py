"""Tests nn.utils.parametrize and the ready parametrizations; the file passes on PyTorch as well."""

import copy
import pickle

import pytest
from under_test import t

nn = t.nn
parametrize, parametrizations = nn.utils.parametrize, nn.utils.parametrizations


class Symmetric(nn.Module):
    """Symmetric matrices by their upper triangle."""

    def forward(self, X):
        return X.triu() + X.triu(1).T

    def right_inverse(self, A):
        return A.triu()


class Doubled(nn.Module):
    def forward(self, X):
        return 2 * X


class Sum(nn.Module):
    """A tensor from two."""

    def forward(self, a, b):
        return a + b

    def right_inverse(self, X):
        return X / 2, X / 2


def symmetric_layer():
    return parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())


def test_the_tensor_is_computed_where_it_is_read():
    layer = symmetric_layer()
    assert t.equal(layer.weight, layer.weight.T) and "weight" not in layer._parameters
    names = [name for name, _ in layer.named_parameters()]
    assert names == ["bias", "parametrizations.weight.original"]
    x = t.randn(2, 3)
    assert t.allclose(layer(x), x @ layer.weight.T + layer.bias, atol=1e-6)


def test_gradients_reach_the_original():
    layer = symmetric_layer()
    layer(t.ones(1, 3)).sum().backward()
    grad = layer.parametrizations.weight.original.grad
    assert grad.tolist() == [[1.0, 2.0, 2.0], [0.0, 1.0, 2.0], [0.0, 0.0, 1.0]]


def test_assigning_goes_through_the_inverse():
    layer = symmetric_layer()
    layer.weight = t.eye(3) * 5
    assert layer.weight.tolist() == (t.eye(3) * 5).tolist()


def test_the_class_says_that_it_is_parametrized():
    layer = symmetric_layer()
    assert type(layer).__name__ == "ParametrizedLinear" and isinstance(layer, nn.Linear)
    assert type(layer).__module__ == parametrize.__name__
    assert parametrize.type_before_parametrizations(layer) is nn.Linear
    assert parametrize.is_parametrized(layer) and parametrize.is_parametrized(layer, "weight")
    assert not parametrize.is_parametrized(layer, "bias")
    assert "(0): Symmetric()" in repr(layer)


@pytest.mark.parametrize("leave", [True, False])
def test_removing(leave):
    layer = symmetric_layer()
    original = layer.parametrizations.weight.original
    value = layer.weight.detach().clone() if leave else original.detach().clone()
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=leave)
    assert type(layer) is nn.Linear and not hasattr(layer, "parametrizations")
    assert layer.weight is original and t.equal(layer.weight, value)


def test_several_act_in_turn():
    layer = symmetric_layer()
    before = layer.weight.detach()
    parametrize.register_parametrization(layer, "weight", Doubled())
    assert t.equal(layer.weight, 2 * before) and len(layer.parametrizations.weight) == 2


def test_several_originals():
    layer = nn.Linear(2, 2)
    value = layer.weight.detach().clone()
    parametrize.register_parametrization(layer, "weight", Sum())
    originals = [name for name, _ in layer.parametrizations.weight.named_parameters()]
    assert originals == ["original0", "original1"] and t.allclose(layer.weight, value)
    layer.weight = t.ones(2, 2)
    assert layer.parametrizations.weight.original1.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    with pytest.raises(ValueError, match="Cannot leave unparametrized"):
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)


def test_buffers():
    module = nn.Module()
    module.register_buffer("table", t.ones(2))
    parametrize.register_parametrization(module, "table", Doubled())
    assert module.table.tolist() == [2, 2]
    assert [name for name, _ in module.named_buffers()] == ["parametrizations.table.original"]


def test_cached_computes_once():
    layer = symmetric_layer()
    with parametrize.cached():
        assert layer.weight is layer.weight
        with parametrize.cached():
            kept = layer.weight
        assert layer.weight is kept
    assert layer.weight is not layer.weight


def test_copies_have_tensors_of_their_own():
    layer = symmetric_layer()
    other = copy.deepcopy(layer)
    other.weight = t.eye(3)
    assert not t.equal(layer.weight, other.weight)


def test_pickling_is_refused():
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        pickle.dumps(symmetric_layer())


def test_state():
    first, second = symmetric_layer(), symmetric_layer()
    second.load_state_dict(first.state_dict())
    assert t.equal(first.weight, second.weight)


def test_transfer():
    source, target = symmetric_layer(), nn.Linear(3, 3)
    parametrize.transfer_parametrizations_and_params(source, target)
    assert t.equal(source.weight, target.weight)


class Wrong(nn.Module):
    def __init__(self, result):
        super().__init__()
        self.result = result

    def forward(self, X):
        return self.result(X)


@pytest.mark.parametrize(
    "result, text",
    [
        (lambda X: 1, "A parametrization must return a tensor. Got int."),
        (lambda X: X.double(), "may not change the dtype of the tensor, unless `unsafe` flag"),
        (lambda X: X[:1], "may not change the shape of the tensor, unless `unsafe` flag"),
    ],
)
def test_what_a_parametrization_may_not_return(result, text):
    with pytest.raises(ValueError, match=text):
        parametrize.register_parametrization(nn.Linear(2, 2), "weight", Wrong(result))


def test_refusals():
    layer = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="does not have a parameter, a buffer, or a parametrized"):
        parametrize.register_parametrization(layer, "none", Doubled())
    with pytest.raises(ValueError, match="does not have a parametrization on weight"):
        parametrize.remove_parametrizations(layer, "weight")
    with pytest.raises(ValueError, match="requires one or more modules"):
        parametrize.ParametrizationList([], layer.weight)
    parametrize.register_parametrization(layer, "weight", Doubled())
    with pytest.raises(RuntimeError, match="Doubled does not implement right_inverse"):
        layer.weight = t.eye(2)


# ---- ready ones ----
def largest_singular_value(matrix):
    vector = t.ones(matrix.shape[1])
    for _ in range(200):
        vector = matrix.T @ (matrix @ vector)
        vector = vector / (vector @ vector).sqrt()
    return (matrix @ vector).pow(2).sum().sqrt()


def test_spectral_norm():
    layer = parametrizations.spectral_norm(nn.Linear(4, 3), n_power_iterations=50)
    layer(t.randn(2, 4))
    norm = largest_singular_value(layer.weight.detach())
    assert t.allclose(norm, t.tensor(1.0), atol=1e-4)
    assert {"parametrizations.weight.0._u", "parametrizations.weight.0._v"} <= set(
        layer.state_dict()
    )


def test_spectral_norm_iterates_in_training_alone():
    layer = parametrizations.spectral_norm(nn.Linear(4, 3))
    vectors = layer.parametrizations.weight[0]
    layer.eval()
    before = vectors._u.clone()
    layer(t.randn(2, 4))
    assert t.equal(vectors._u, before)


def test_spectral_norm_refuses():
    with pytest.raises(ValueError, match="n_power_iterations to be positive"):
        parametrizations.spectral_norm(nn.Linear(2, 2), n_power_iterations=0)
    with pytest.raises(IndexError, match="Dimension out of range"):
        parametrizations.spectral_norm(nn.Linear(2, 2), dim=2)
    with pytest.raises(ValueError, match="has no parameter or buffer with name 'none'"):
        parametrizations.spectral_norm(nn.Linear(2, 2), name="none")


def test_weight_norm():
    layer = nn.Linear(4, 3)
    value = layer.weight.detach().clone()
    parametrizations.weight_norm(layer)
    assert t.allclose(layer.weight, value, atol=1e-6)
    assert layer.parametrizations.weight.original0.shape == (3, 1)
    older = {"bias": layer.bias, "weight_g": t.ones(3, 1), "weight_v": value}
    layer.load_state_dict(older)
    assert t.allclose(layer.weight.pow(2).sum(1), t.ones(3), atol=1e-5)


def test_weight_norm_of_the_whole_is_exact_in_bfloat16():
    layer = nn.Linear(4, 5, dtype=t.bfloat16)
    value = layer.weight.detach().clone()
    parametrizations.weight_norm(layer, dim=None)
    assert t.equal(layer.weight, value)


@pytest.mark.parametrize("name", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
def test_orthogonal(name, shape):
    layer = parametrizations.orthogonal(nn.Linear(*shape), orthogonal_map=name)
    weight = layer.weight if layer.weight.shape[0] < layer.weight.shape[1] else layer.weight.T
    assert t.allclose(weight @ weight.T, t.eye(min(shape)), atol=1e-4)


def test_orthogonal_refuses():
    with pytest.raises(ValueError, match='orthogonal_map has to be one of "matrix_exp"'):
        parametrizations.orthogonal(nn.Linear(2, 2), orthogonal_map="none")
    with pytest.raises(ValueError, match="Expected a matrix or batch of matrices"):
        parametrizations.orthogonal(nn.Linear(2, 2), name="bias")
