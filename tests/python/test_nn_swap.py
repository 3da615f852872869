"""Tests swap_tensors and the flags of __future__; the file passes on PyTorch as well."""

import importlib
import weakref

import pytest
from under_test import t

nn = t.nn
future = importlib.import_module(f"{t.__name__}.__future__")


@pytest.fixture
def swapping():
    future.set_swap_module_params_on_conversion(True)
    yield
    future.set_swap_module_params_on_conversion(False)


@pytest.fixture
def overwriting():
    future.set_overwrite_module_params_on_conversion(True)
    yield
    future.set_overwrite_module_params_on_conversion(False)


def test_values_and_attributes_change_places():
    first, second = t.ones(2), t.zeros(3, dtype=t.float64)
    first.label = "first"
    t.utils.swap_tensors(first, second)
    assert first.tolist() == [0, 0, 0] and first.dtype == t.float64
    assert second.tolist() == [1, 1] and second.label == "first" and not hasattr(first, "label")


def test_classes_change_places():
    parameter, tensor = nn.Parameter(t.ones(2)), t.zeros(2)
    t.utils.swap_tensors(parameter, tensor)
    assert type(tensor) is nn.Parameter and type(parameter) is t.Tensor
    assert tensor.requires_grad and not parameter.requires_grad


def test_the_objects_are_those_of_their_tensors():
    first, second = t.ones(2, requires_grad=True), t.zeros(2, requires_grad=True)
    t.utils.swap_tensors(first, second)
    (first * 2).sum().backward()
    assert first.grad.tolist() == [2, 2] and second.grad is None
    assert first.view(2)._base is None or first.view(2)._base is first


def test_gradients_after_a_swap():
    weight = nn.Parameter(t.ones(2))
    (weight * 3).sum().backward()
    t.utils.swap_tensors(weight, nn.Parameter(t.zeros(2)))
    assert weight.grad is None and weight.tolist() == [0, 0]


def test_weak_references_are_refused():
    first, second = t.ones(2), t.zeros(2)
    kept = weakref.ref(second)
    with pytest.raises(RuntimeError, match="Cannot swap t2 because it has weakref"):
        t.utils.swap_tensors(first, second)
    assert kept() is second


def test_other_holders_are_refused():
    first, second = t.ones(2, requires_grad=True), t.zeros(2)
    with t.no_grad():
        view = first.view(2)
    with pytest.raises(RuntimeError, match="Expected use_count of t1 to be 1 or 2"):
        t.utils.swap_tensors(first, second)
    assert view.tolist() == [1, 1]


def test_a_graph_of_a_swapped_leaf_is_refused():
    leaf = nn.Parameter(t.ones(2))
    result = leaf.sum()
    t.utils.swap_tensors(leaf, nn.Parameter(t.zeros(2)))
    with pytest.raises(RuntimeError, match="AccumulateGrad node that was poisoned by swap_tensors"):
        result.backward()


def test_conversions_swap(swapping):
    layer = nn.Linear(2, 2)
    weight = layer.weight
    layer(t.ones(1, 2)).sum().backward()
    layer.double()
    assert layer.weight is weight and weight.dtype == t.float64 and weight.grad.dtype == t.float64
    layer.to("meta")
    assert layer.weight is weight and weight.is_meta


def test_a_conversion_that_can_not_swap(swapping):
    layer = nn.Linear(2, 2)
    kept = weakref.ref(layer.weight)
    with pytest.raises(RuntimeError, match=r"_apply\(\): Couldn't swap Linear.weight"):
        layer.double()
    assert kept() is layer.weight


@pytest.mark.parametrize("assign", [True, False])
def test_loading_swaps(swapping, assign):
    layer, other = nn.Linear(2, 2), nn.Linear(2, 2)
    weight = layer.weight
    layer.load_state_dict(other.state_dict(), assign=assign)
    assert layer.weight is weight and t.equal(weight, other.weight)
    assert (weight.data_ptr() == other.weight.data_ptr()) == assign


def test_loading_that_fails_says_so(swapping):
    layer = nn.Linear(2, 2)
    kept = weakref.ref(layer.bias)
    with pytest.raises(RuntimeError, match='While swapping the parameter named "bias"'):
        layer.load_state_dict(nn.Linear(2, 2).state_dict())
    assert kept() is layer.bias


def test_conversions_overwrite(overwriting):
    layer = nn.Linear(2, 2)
    weight = layer.weight
    layer.double()
    assert layer.weight is not weight and weight.dtype == t.float32
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.dtype == t.float64


def test_module_load():
    tensor, other = t.zeros(2), t.ones(2)
    assert tensor.module_load(other, assign=True).data_ptr() == other.data_ptr()
    assert tensor.module_load(other).data_ptr() == tensor.data_ptr()
    assert tensor.tolist() == [1, 1]
