"""Operators without a lowering on a device that compiles kernels: the CPU runs them, and says so."""

import warnings

import lowered_calls
import pytest

import taeda


def renormed(x):
    taeda.embedding_renorm_(x, taeda.tensor([0, 2], device=x.device), 1.0, 2.0)
    return x


# By the operator that is counted.
CALLS = {
    "sort.values_stable": lambda x: x.sort(1)[1],
    "topk.values": lambda x: x.topk(2)[0],
    "multinomial.out": lambda x: x.abs().multinomial(2),
    "_shuffled_range_": lambda x: taeda.randperm(9, device=x.device),
    "embedding_renorm_": renormed,
}


@pytest.fixture(scope="module")
def device():
    return lowered_calls.load("interpreted")


@pytest.mark.parametrize("name", CALLS)
def test_the_cpu_stands_in_and_is_counted(name, device):
    x = taeda.tensor([[3.0, 1.0, 2.0], [0.5, 4.0, 1.5], [9.0, 7.0, 8.0]])
    taeda.manual_seed(3)
    want = CALLS[name](x.clone())
    before = taeda._C._fallback_counts()
    taeda.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = CALLS[name](x.to(device))
    assert got.device.type == device
    assert lowered_calls.has_same_bits(want, got)
    assert taeda._C._fallback_counts()[name] == before.get(name, 0) + 1
