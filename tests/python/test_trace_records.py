"""Every differentiable record on fake tensors and in traces.

A fake result has the real one's geometry, and a traced graph computes what the call computes: real,
fake, and with sizes that are symbols. Graphs are closed and run in C++ too.
"""

import pytest
import record_calls
from sampled_calls import flat, samples
from taeda._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
)
from taeda.fx.experimental.proxy_tensor import make_fx
from taeda.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

import taeda

# Calls without a trace, which should have one.
UNTRACED = {
    # It asks for sizes as numbers.
    ("cross_entropy_loss(t(2,4), i[2,-100], p(4), 2, -100, 0.1) in float64", "symbolic"),
}
NAMES = [key for key in record_calls.sampled() if samples(key, taeda.float64)]


def has_values(key):
    """Whether results are the same from call to call."""
    record = record_calls.records()[key]
    return "no_golden" not in record.data and record.data.get("batch") != "random"


def wants_values(error):
    """Whether only values could tell: sizes of results, numbers, which way a program goes."""
    kinds = (DataDependentOutputException, DynamicOutputShapeException, GuardOnDataDependentSymNode)
    texts = ("get value out of a tracing tensor", "depends on values")
    return isinstance(error, kinds) or any(text in str(error) for text in texts)


def shape_of(t):
    if not isinstance(t, taeda.Tensor):
        return type(t)
    return tuple(t.shape), tuple(t.stride()), t.storage_offset(), t.dtype, t.device


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_fake_results_look_like_real_ones(name):
    for sample in samples(name, taeda.float64):
        call, tensors = sample, sample.tensors
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        fakes = [mode.from_tensor(t) for t in tensors]
        try:
            with mode:
                fake = flat(call(*fakes))
        except RuntimeError as error:
            assert wants_values(error)
            continue
        real = flat(call(*tensors))
        assert [shape_of(t) for t in fake] == [shape_of(t) for t in real]


def values_agree(name, got, expected):
    assert len(got) == len(expected)
    for a, b in zip(got, expected):
        if not isinstance(b, taeda.Tensor):
            assert a == b
        elif not has_values(name):
            assert a.shape == b.shape
        else:
            assert a.dtype == b.dtype
            assert taeda.equal(a.isnan(), b.isnan())
            assert taeda.equal(a.nan_to_num(), b.nan_to_num())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
@pytest.mark.parametrize("name", NAMES)
def test_traces_compute_the_same(name, mode):
    for sample in samples(name, taeda.float64):
        call, tensors = sample, sample.tensors
        if (str(sample), mode) in UNTRACED:
            continue
        try:
            traced = make_fx(call, tracing_mode=mode, _allow_non_fake_inputs=True)(*tensors)
        except RuntimeError as error:
            # A generator of its own is no value of a graph.
            has_generator = sample.has_generator and "Generator" in str(error)
            assert has_generator or wants_values(error), str(sample)
            continue
        traced.graph.lint()
        assert traced.graph._open_reason() == ""
        values_agree(name, flat(traced(*tensors)), flat(call(*tensors)))
