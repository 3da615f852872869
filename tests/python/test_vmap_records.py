"""vmap over every record's samples equals a loop over the examples."""

import itertools
import re

import pytest
import record_calls
from sampled_calls import flat, samples

import taeda
from taeda import _C
from taeda.func import vmap

BATCH = 3
DTYPES = ("float64", "complex128")
# They read strides, which the examples of a batch along the last dimension do not share.
READS_STRIDES = {"as_strided", "as_strided_scatter", "view_as_complex", "view.dtype"}
READS_STRIDES |= {"_reshape_alias", "_pdist_forward", "_pdist_backward"}
# Their by-products are not made under vmap, which composes the derivative of other operators.
PARTIAL = {"_fused_cross_entropy", "_fused_cross_entropy_backward"}
# Their offsets have one order alone.
PARTIAL |= {"_embedding_bag", "_embedding_bag_forward_only"}
# What is refused for every example of a batch, as in PyTorch: values decide over shapes or layouts.
REFUSALS = r"^vmap: |^NYI: |^Batching rule not implemented .* whose result is no tensor"


def is_batched(record):
    """Whether a batch of calls has values to compare."""
    has_values = record.data.get("batch") not in ("random", "forbidden")
    return record.kind != "composite" and has_values and record.key not in PARTIAL


def cases():
    return [
        pytest.param(key, dtype, id=f"{key}-{dtype}")
        for key, record in record_calls.sampled().items()
        for dtype in DTYPES
        if is_batched(record) and any(s.tensors for s in samples(key, getattr(taeda, dtype)))
    ]


def examples(t):
    """Three examples like `t`: other numbers, or the same indices in another order."""
    if record_calls.is_number(t):
        return [t, t * 0.9, t * 1.05]
    return [t, t.flip(0) if t.dim() else t, t]


def choices(sample):
    """Which tensors to batch: each alone, and all; along the first and the last dimension."""
    places = range(len(sample.tensors))
    subsets = [(i,) for i in places] + ([tuple(places)] if len(places) > 1 else [])
    for chosen, dim in itertools.product(subsets, (0, -1)):
        is_written = set(sample.written) <= set(chosen)
        if is_written and (dim == 0 or sample.call.key not in READS_STRIDES):
            yield chosen, dim


def compared(key, dtype):
    """The samples whose numbers a batch shares with single calls."""
    for sample in samples(key, getattr(taeda, dtype)):
        is_plain = all(t.is_contiguous() for t in sample.tensors)
        if not sample.has_generator and (is_plain or key not in READS_STRIDES):
            yield sample


def check(sample, chosen, dim):
    rows = {i: examples(sample.tensors[i]) for i in chosen}
    pick = lambda b: [rows[i][b] if i in rows else t for i, t in enumerate(sample.tensors)]
    expected = [sample.results(*pick(b)) for b in range(BATCH)]
    args = [taeda.stack(rows[i], dim) if i in rows else t for i, t in enumerate(sample.tensors)]
    got = flat(vmap(sample, tuple(dim if i in rows else None for i in range(len(args))))(*args))
    assert len(got) == len(expected[0])
    for k, value in enumerate(got):
        wanted = taeda.stack([e[k] for e in expected])
        where = (str(sample), chosen, dim)
        assert value.dtype == wanted.dtype and value.shape == wanted.shape, where
        if "no_golden" not in sample.call.record.data:
            assert taeda.allclose(value, wanted, rtol=1e-10, atol=1e-12, equal_nan=True), where


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key, dtype", cases())
def test_vmap_equals_a_loop(key, dtype):
    before = _C._vmap_fallback_count()
    for sample in compared(key, dtype):
        for chosen, dim in choices(sample):
            try:
                check(sample, chosen, dim)
            except RuntimeError as refusal:
                if not re.search(REFUSALS, str(refusal)):
                    raise
    if "no_batch" not in record_calls.records()[key].data:
        assert _C._vmap_fallback_count() == before, "it ran once for each example"


# Why a transform does not reach a record, which is called by its name only.
UNREACHED = ("the inner form of ", "inside transforms ")


def test_few_records_run_once_for_each_example():
    own = [r for r in record_calls.records().values() if r.kind != "composite"]
    slow = [r.key for r in own if not r.data.get("no_batch", UNREACHED[0]).startswith(UNREACHED)]
    assert len(slow) < 0.005 * len(own), slow
