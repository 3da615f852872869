"""Every differentiable record has right first and second derivatives, in real and complex numbers."""

import pytest
import record_calls
from sampled_calls import derivatives, without_plain

import taeda
from taeda.autograd import gradcheck, gradgradcheck

DTYPES = ["float64", "complex128"]


def cases():
    return [
        pytest.param(key, dtype, id=f"{key}-{dtype}")
        for key in record_calls.sampled()
        for dtype in DTYPES
        if derivatives(key, getattr(taeda, dtype))
    ]


CASES = cases()
OWN = [case for case in CASES if record_calls.records()[case.values[0]].kind != "composite"]


def check(checker, key, dtype):
    for sample in derivatives(key, getattr(taeda, dtype)):
        checker(without_plain(sample), sample.tensors)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key, dtype", CASES)
def test_first_derivatives(key, dtype):
    check(gradcheck, key, dtype)


@pytest.mark.slow
@pytest.mark.parametrize("key, dtype", OWN)
def test_second_derivatives(key, dtype):
    """Those of composites are made of these."""
    check(gradgradcheck, key, dtype)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("key", [key for key, r in record_calls.records().items() if r.grad])
def test_every_gradient_has_samples(key):
    """Two calls at least whose results have the record's own node behind them."""
    record = record_calls.records()[key]
    if "" in record_calls.unchecked(record):
        return
    found = [derivatives(key, getattr(taeda, dtype)) for dtype in DTYPES]
    assert max(map(len, found)) >= 2
    for sample in found[0] + found[1]:
        assert record.node in node_names(sample.results(*sample.tensors))


def node_names(results):
    waiting, names = [r.grad_fn for r in results if r.requires_grad], {}
    while waiting:
        node = waiting.pop()
        if node is not None and node not in names:
            names[node] = node.name()
            waiting += [following for following, _ in node.next_functions]
    return set(names.values())


def test_no_reason_is_left_over():
    """Reasons name arguments or samples, of records that have derivatives."""
    for key, record in record_calls.records().items():
        names = {a.name for a in record.schema.tensors} | {"", *record_calls.texts(key)}
        assert set(record_calls.unchecked(record)) <= names, key
        assert not record_calls.unchecked(record) or "no_grad" not in record.data, key
