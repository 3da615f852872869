"""Copies of parameters: values alone."""

import copy

import taeda as t


def test_a_deep_copy_has_no_gradient_and_no_attributes():
    layer = t.nn.Linear(2, 3)
    layer.weight.note = "mine"
    layer(t.ones(1, 2)).sum().backward()
    made = copy.deepcopy(layer)
    assert type(made.weight) is t.nn.Parameter
    assert t.equal(made.weight, layer.weight)
    assert made.weight.data_ptr() != layer.weight.data_ptr()
    assert made.weight.grad is None and layer.weight.grad is not None
    assert not hasattr(made.weight, "note")


def test_shared_parameters_stay_shared():
    first, second = t.nn.Linear(2, 2), t.nn.Linear(2, 2)
    second.weight = first.weight
    made = copy.deepcopy(t.nn.ModuleList([first, second]))
    assert made[0].weight is made[1].weight
    frozen = copy.deepcopy(t.nn.Parameter(t.ones(2), requires_grad=False))
    assert not frozen.requires_grad


def test_groups_of_an_optimizer_are_printed_apart():
    layer = t.nn.Linear(2, 2)
    groups = [{"params": [layer.weight]}, {"params": [layer.bias], "lr": 2}]
    text = repr(t.optim.SGD(groups, lr=1))
    assert text.startswith("SGD (\nParameter Group 0\n    dampening: 0\n")
    assert "\n\nParameter Group 1\n" in text
    assert text.endswith("\n)")
