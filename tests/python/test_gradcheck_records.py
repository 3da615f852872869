"""Every differentiable record has right first and second derivatives, in real and complex numbers."""

import pytest
from record_samples import NOT_SAMPLED, all_records, samples

import taeda
from taeda.autograd import gradcheck, gradgradcheck

DTYPES = ["float64", "complex128"]


def cases():
    found = []
    for name in all_records():
        for dtype in DTYPES:
            if samples(name, getattr(taeda, dtype)):
                found.append(pytest.param(name, dtype, id=f"{name}-{dtype}"))
    return found


def check(checker, name, dtype):
    for sample in samples(name, getattr(taeda, dtype)):

        def function(*args, sample=sample):
            return sample.fn(*args, **sample.kwargs)

        for fast_mode in (False, True):
            checker(function, sample.args, fast_mode=fast_mode)


@pytest.mark.parametrize("name, dtype", cases())
def test_first_derivatives(name, dtype):
    check(gradcheck, name, dtype)


@pytest.mark.parametrize("name, dtype", cases())
def test_second_derivatives(name, dtype):
    check(gradgradcheck, name, dtype)


@pytest.mark.parametrize("name", all_records())
def test_every_record_has_samples(name):
    found = [samples(name, getattr(taeda, dtype)) for dtype in DTYPES]
    assert max(map(len, found)) >= 2 or NOT_SAMPLED[name]


@pytest.mark.parametrize("name", [name for name in all_records() if name not in NOT_SAMPLED])
def test_samples_run_their_record(name):
    """The record's own node is in the graph of what a sample returns."""
    for dtype in DTYPES:
        for sample in samples(name, getattr(taeda, dtype)):
            assert all_records()[name].node in node_names(sample.fn(*sample.args, **sample.kwargs))
            plain = samples(name, getattr(taeda, dtype), requires_grad=False)
            assert not any(isinstance(a, taeda.Tensor) and a.requires_grad for a in plain[0].args)


def node_names(results):
    results = results if isinstance(results, (tuple, list)) else [results]
    waiting, names = [r.grad_fn for r in results if r.requires_grad], {}
    while waiting:
        node = waiting.pop()
        if node is not None and node not in names:
            names[node] = node.name()
            waiting += [following for following, _ in node.next_functions]
    return set(names.values())


def test_no_reason_is_left_over():
    assert set(NOT_SAMPLED) <= set(all_records())
