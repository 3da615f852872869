"""Every differentiable record on fake tensors and in traces.

A fake result has the real one's geometry, and a traced graph computes what the call computes: real,
fake, and with sizes that are symbols. Graphs are closed and run in C++ too.
"""

import pytest
from record_samples import all_records, samples
from taeda._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
)
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda

# Their results differ from call to call: geometry alone is compared.
RANDOM = {name for name, r in all_records().items() if r.data.get("batch") == "random"} | {
    "native_dropout_backward"
}


def cases():
    return [pytest.param(name, id=name) for name in all_records() if samples(name, taeda.float64)]


def flat(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def split(sample):
    """The call as a function of its tensors, and the tensors."""
    places = [i for i, a in enumerate(sample.args) if isinstance(a, taeda.Tensor)]
    tensors = [sample.args[i].detach() for i in places]

    def call(*given):
        args = list(sample.args)
        for place, tensor in zip(places, given):
            args[place] = tensor
        return sample.fn(*args, **sample.kwargs)

    return call, tensors


def shape_of(t):
    if not isinstance(t, taeda.Tensor):
        return type(t)
    return tuple(t.shape), tuple(t.stride()), t.storage_offset(), t.dtype, t.device


@pytest.mark.parametrize("name", cases())
def test_fake_results_look_like_real_ones(name):
    for sample in samples(name, taeda.float64, requires_grad=False):
        call, tensors = split(sample)
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        fakes = [mode.from_tensor(t) for t in tensors]
        try:
            with mode:
                fake = flat(call(*fakes))
        except (DataDependentOutputException, DynamicOutputShapeException):
            continue
        real = flat(call(*tensors))
        assert [shape_of(t) for t in fake] == [shape_of(t) for t in real]


def values_agree(name, got, expected):
    assert len(got) == len(expected)
    for a, b in zip(got, expected):
        if not isinstance(b, taeda.Tensor):
            assert a == b
        elif name in RANDOM:
            assert a.shape == b.shape
        else:
            assert a.dtype == b.dtype
            assert taeda.equal(a.isnan(), b.isnan())
            assert taeda.equal(a.nan_to_num(), b.nan_to_num())


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
@pytest.mark.parametrize("name", cases())
def test_traces_compute_the_same(name, mode):
    for sample in samples(name, taeda.float64, requires_grad=False)[:3]:
        call, tensors = split(sample)
        try:
            traced = make_fx(call, tracing_mode=mode, _allow_non_fake_inputs=True)(*tensors)
        except (DataDependentOutputException, DynamicOutputShapeException):
            continue
        except NotImplementedError as refusal:
            # Random fills with a generator of their own, which is no value of a graph.
            assert name in RANDOM and "Generator" in str(refusal)
            continue
        traced.graph.lint()
        assert traced.graph._open_reason() == ""
        values_agree(name, flat(traced(*tensors)), flat(call(*tensors)))
