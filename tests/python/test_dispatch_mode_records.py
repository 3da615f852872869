"""Every differentiable record under a mode: the same results and gradients, and kept results serve."""

import functools

import pytest
import record_calls
from sampled_calls import derivatives, samples
from taeda.utils._python_dispatch import TorchDispatchMode
from taeda.utils._pytree import tree_leaves
from taeda.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

import taeda

NAMES = [key for key in record_calls.sampled() if samples(key, taeda.float64)]


class PassOn(TorchDispatchMode):
    """Changes nothing."""

    def __init__(self):
        self.calls = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls += 1
        return func(*args, **(kwargs or {}))


def keep_everything(ctx, op, *args, **kwargs):
    return CheckpointPolicy.MUST_SAVE


def run(call, sample):
    """Results and gradients of a sample's tensors, random numbers from the same seed."""
    taeda.manual_seed(0)
    leaves = [t for t in sample.tensors if t.requires_grad]
    results = tree_leaves(call(sample, *sample.tensors))
    roots = [r for r in results if isinstance(r, taeda.Tensor) and r.requires_grad]
    roots = [taeda.view_as_real(r.resolve_conj()) if r.is_complex() else r for r in roots]
    total = sum((r * r.detach().cos()).sum() for r in roots) if roots else None
    grads = taeda.autograd.grad(total, leaves, allow_unused=True) if roots and leaves else []
    return [*results, *grads]


def plain_call(sample, *tensors):
    return sample(*tensors)


def with_gradients(key, dtype):
    """A record's samples, with leaves where it has derivatives."""
    return derivatives(key, dtype) or samples(key, dtype)


def assert_same(got, expected):
    assert len(got) == len(expected)
    for a, b in zip(got, expected):
        if isinstance(b, taeda.Tensor):
            assert a.dtype == b.dtype
            assert taeda.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True)
        else:
            assert a == b


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", NAMES)
def test_a_mode_that_changes_nothing(key):
    for sample in with_gradients(key, taeda.float64):
        expected = run(plain_call, sample)
        with PassOn() as mode:
            got = run(plain_call, sample)
        # A size or stride is no call of the dispatcher.
        assert mode.calls > 0 or not any(isinstance(r, taeda.Tensor) for r in expected)
        if is_determined(key):
            assert_same(got, expected)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", NAMES)
def test_a_checkpoint_that_keeps_everything(key):
    context_fn = functools.partial(create_selective_checkpoint_contexts, keep_everything)
    call = functools.partial(checkpoint, use_reentrant=False, context_fn=context_fn)
    for sample in derivatives(key, taeda.float64):
        expected = run(plain_call, sample)
        try:
            got = run(call, sample)
        except RuntimeError as refusal:
            # It writes to what it made, such as a mask of random numbers.
            assert "selective activation checkpoint has been mutated" in str(refusal)
            continue
        assert_same(got, expected)


def is_determined(key):
    """Not memory that nobody wrote."""
    return record_calls.records()[key].data.get("no_golden") != "its memory is not written"
