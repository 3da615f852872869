"""Every differentiable record under a mode: the same results and gradients, and kept results serve."""

import functools

import pytest
from record_samples import all_records, samples
from taeda.utils._python_dispatch import TorchDispatchMode
from taeda.utils._pytree import tree_leaves
from taeda.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

import taeda

NAMES = [name for name in all_records() if samples(name, taeda.float64)]
# Their samples write to what they made, or run a backward of their own inside the region.
CANNOT_BE_KEPT = {
    "bernoulli_.Tensor",
    "native_dropout_backward",
    "nll_loss_backward",
    "nll_loss2d_backward",
}


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
    """Results and gradients of a sample's arguments, random numbers from the same seed."""
    taeda.manual_seed(0)
    inputs = [a for a in tree_leaves(sample.args) if isinstance(a, taeda.Tensor)]
    leaves = [a for a in inputs if a.requires_grad]
    results = tree_leaves(call(sample.fn, *sample.args, **sample.kwargs))
    roots = [r for r in results if isinstance(r, taeda.Tensor) and r.requires_grad]
    roots = [taeda.view_as_real(r) if r.is_complex() else r for r in roots]
    total = sum((r * r.detach().cos()).sum() for r in roots) if roots else None
    grads = taeda.autograd.grad(total, leaves, allow_unused=True) if roots and leaves else []
    return [*results, *grads]


def assert_same(got, expected):
    assert len(got) == len(expected)
    for a, b in zip(got, expected):
        if isinstance(b, taeda.Tensor):
            assert a.dtype == b.dtype
            assert taeda.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True)
        else:
            assert a == b


@pytest.mark.parametrize("name", NAMES)
def test_a_mode_that_changes_nothing(name):
    for sample in samples(name, taeda.float64):
        expected = run(lambda fn, *args, **kwargs: fn(*args, **kwargs), sample)
        with PassOn() as mode:
            got = run(lambda fn, *args, **kwargs: fn(*args, **kwargs), sample)
        assert mode.calls > 0
        assert_same(got, expected)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in CANNOT_BE_KEPT])
def test_a_checkpoint_that_keeps_everything(name):
    context_fn = functools.partial(create_selective_checkpoint_contexts, keep_everything)
    call = functools.partial(checkpoint, use_reentrant=False, context_fn=context_fn)
    for sample in samples(name, taeda.float64):
        expected = run(lambda fn, *args, **kwargs: fn(*args, **kwargs), sample)
        assert_same(run(call, sample), expected)
