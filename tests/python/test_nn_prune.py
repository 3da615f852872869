"""Tests nn.utils.prune: masks, hooks and refusals; the file passes on PyTorch as well."""

import pickle

import pytest
from under_test import t

nn, prune = t.nn, pytest.importorskip(f"{t.__name__}.nn.utils.prune")


def layer():
    made = nn.Linear(2, 3)
    with t.no_grad():
        made.weight.copy_(t.tensor([[1.0, -2.0], [3.0, -4.0], [5.0, -6.0]]))
    return made


def mask_of(module):
    return module.weight_mask.tolist()


def test_members_after_pruning():
    module = prune.l1_unstructured(layer(), "weight", amount=2)
    assert [name for name, _ in module.named_parameters()] == ["bias", "weight_orig"]
    assert [name for name, _ in module.named_buffers()] == ["weight_mask"]
    assert mask_of(module) == [[0, 0], [1, 1], [1, 1]]
    assert module.weight.tolist() == [[0, 0], [3, -4], [5, -6]]
    assert prune.is_pruned(module) and prune.is_pruned(nn.Sequential(module))


@pytest.mark.parametrize("amount, zeros", [(0.5, 3), (1, 1), (0, 0), (1.0, 6)])
def test_amounts(amount, zeros):
    module = prune.l1_unstructured(layer(), "weight", amount=amount)
    assert int((module.weight_mask == 0).sum()) == zeros


def test_scores_decide():
    scores = t.tensor([[6.0, 5.0], [4.0, 3.0], [2.0, 1.0]])
    module = prune.l1_unstructured(layer(), "weight", amount=2, importance_scores=scores)
    assert mask_of(module) == [[1, 1], [1, 1], [0, 0]]


def test_slices_by_norm():
    assert mask_of(prune.ln_structured(layer(), "weight", 1, n=2, dim=0)) == [
        [0, 0],
        [1, 1],
        [1, 1],
    ]
    assert mask_of(prune.ln_structured(layer(), "weight", 1, n=1, dim=1)) == [[0, 1]] * 3


def test_random_counts():
    module = prune.random_unstructured(layer(), "weight", amount=4)
    assert int((module.weight_mask == 0).sum()) == 4
    module = prune.random_structured(layer(), "weight", amount=2, dim=0)
    assert sorted(row[0] for row in mask_of(module)) == [0, 0, 1]


def test_pruning_twice_keeps_zeros():
    module = prune.l1_unstructured(layer(), "weight", amount=2)
    prune.l1_unstructured(module, "weight", amount=1)
    assert mask_of(module) == [[0, 0], [0, 1], [1, 1]]
    hook = next(iter(module._forward_pre_hooks.values()))
    assert isinstance(hook, prune.PruningContainer) and len(hook) == 2


def test_slices_after_elements():
    module = prune.l1_unstructured(layer(), "weight", amount=2)
    prune.ln_structured(module, "weight", 1, n=2, dim=0)
    assert mask_of(module) == [[0, 0], [0, 0], [1, 1]]


def test_own_mask():
    module = prune.custom_from_mask(layer(), "weight", t.tensor([[1, 0], [1, 0], [1, 0]]))
    assert module.weight.tolist() == [[1, 0], [3, 0], [5, 0]]


def test_all_parameters_as_one():
    first, second = layer(), layer()
    with t.no_grad():
        second.weight.mul_(10)
    prune.global_unstructured(
        [(first, "weight"), (second, "weight")], prune.L1Unstructured, amount=6
    )
    assert mask_of(first) == [[0, 0]] * 3 and mask_of(second) == [[1, 1]] * 3


def test_a_call_computes_the_weight():
    module = prune.identity(layer(), "weight")
    with t.no_grad():
        module.weight_orig.fill_(7)
    module(t.ones(1, 2)).sum().backward()
    assert module.weight.tolist() == [[7, 7]] * 3
    assert module.weight_orig.grad.tolist() == [[1, 1]] * 3


def test_removing():
    module = prune.l1_unstructured(layer(), "weight", amount=2)
    original = module.weight_orig
    prune.remove(module, "weight")
    assert module.weight is original and module.weight.tolist()[0] == [0, 0]
    assert not prune.is_pruned(module) and "weight_mask" not in module._buffers


def test_pickling():
    module = prune.l1_unstructured(layer(), "weight", amount=2)
    other = pickle.loads(pickle.dumps(module))
    assert mask_of(other) == mask_of(module) and prune.is_pruned(other)


def test_a_failure_leaves_the_parameter():
    module = layer()
    with pytest.raises(ValueError, match="should be smaller than the number of parameters"):
        prune.l1_unstructured(module, "weight", amount=7)
    assert list(module._parameters) == ["bias", "weight"]


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: prune.l1_unstructured(layer(), "weight", "a"), TypeError, "Invalid type for amo"),
        (lambda: prune.l1_unstructured(layer(), "weight", -1), ValueError, "amount=-1 should"),
        (lambda: prune.l1_unstructured(layer(), "weight", 1.5), ValueError, "amount=1.5 should"),
        (lambda: prune.random_structured(layer(), "bias", 1, 0), ValueError, "multidimensional"),
        (lambda: prune.random_structured(layer(), "weight", 1, 2), IndexError, "Invalid index 2"),
        (lambda: prune.remove(layer(), "weight"), ValueError, "has to be pruned before"),
        (lambda: prune.global_unstructured(1, prune.Identity), TypeError, "not an Iterable"),
        (
            lambda: prune.global_unstructured(
                [(layer(), "weight")], prune.LnStructured, amount=1, n=1
            ),
            TypeError,
            'Only "unstructured" PRUNING_TYPE supported',
        ),
    ],
)
def test_refusals(call, error, text):
    with pytest.raises(error, match=text):
        call()
