"""Indices out of range on a device whose checks the host does not wait for."""

import lowered_calls
import pytest
from lowered_calls import BAD_INDEX, INDEXED

import taeda


@pytest.fixture(scope="module")
def device():
    return lowered_calls.load("deferring")


def values():
    return taeda.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize("name", INDEXED)
def test_the_operators_error_is_raised_at_the_next_wait(name, device):
    call, index = INDEXED[name], taeda.tensor(BAD_INDEX)
    with pytest.raises((IndexError, RuntimeError)) as expected:
        call(values(), index)
    other = taeda.ones(2, device=device)
    call(values().to(device), index.to(device))
    with pytest.raises(expected.type) as found:
        other.cpu()
    assert str(found.value) == str(expected.value)
    # Raised once; the device goes on.
    assert (other + 1).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("name", INDEXED)
def test_indices_within_range_give_the_cpus_values(name, device):
    call, index = INDEXED[name], taeda.tensor([[0, 1, 2], [1, 0, 2]])
    if name == "take":
        index = index - 100
    assert taeda.equal(call(values().to(device), index.to(device)).cpu(), call(values(), index))


def test_the_first_error_of_several_is_raised(device):
    x, good = values().to(device), taeda.tensor([0, 1], device=device)
    x.index_select(0, good)
    x.index_copy_(0, taeda.tensor([0, 9], device=device), x[:2].clone())
    x.take(taeda.tensor([50], device=device))
    with pytest.raises(IndexError, match=r"index_copy_\(\): index 9 is out of bounds"):
        x.sum().item()
    assert x.shape == (4, 3)


def test_as_many_checks_may_wait_as_there_are(device):
    x, good = values().to(device), taeda.tensor([0, 1], device=device)
    for _ in range(600):
        y = x.index_select(0, good)
    assert taeda.equal(y.cpu(), values()[:2])


def test_an_index_into_nothing_is_refused_at_the_call(device):
    empty = taeda.empty(0, 3, device=device)
    with pytest.raises(IndexError, match="index 1 is out of bounds for dimension 0 with size 0"):
        empty[taeda.tensor([1], device=device)]
