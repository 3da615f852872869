"""vmap over every differentiable record equals a loop over the examples."""

import itertools

import pytest
from record_samples import ROOT, all_records, generator_records, samples

import taeda
from taeda import _C
from taeda.func import vmap

BATCH = 3
RECORDS = ROOT / "taeda/ops"


def cases():
    return [
        pytest.param(name, dtype, id=f"{name}-{dtype}")
        for name in all_records()
        for dtype in ("float64", "complex128")
        if samples(name, getattr(taeda, dtype))
    ]


def examples(t, position):
    """Three examples like `t`: other numbers, or the same indices in another order."""
    if t.is_floating_point() or t.is_complex():
        return [t.detach(), t.detach() * 0.9, t.detach() * 1.05]
    turned = t.flip(0) if t.dim() else t
    return [t, turned, t]


def flat(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def is_random(record):
    return record.data.get("batch") == "random"


def choices(sample):
    """Which tensor arguments to batch: each alone, all, and all along their last dimension."""
    places = [i for i, a in enumerate(sample.args) if isinstance(a, taeda.Tensor)]
    subsets = [(i,) for i in places] + ([tuple(places)] if len(places) > 1 else [])
    return list(itertools.product(subsets, (0, -1)))


# They read strides, which the examples of a batch along the last dimension do not share.
READS_STRIDES = {"as_strided", "as_strided_scatter", "view_as_complex"}


@pytest.mark.parametrize("name, dtype", cases())
def test_vmap_equals_a_loop(name, dtype):
    record = all_records()[name]
    if is_random(record) or name == "native_dropout_backward":
        pytest.skip("its numbers are drawn anew in every call: see test_vmap.py")
    if record.data.get("batch") == "forbidden":
        pytest.skip("the size of its result depends on values, which vmap refuses")
    before = _C._vmap_fallback_count()
    for sample in samples(name, getattr(taeda, dtype), requires_grad=False):
        for chosen, dim in choices(sample):
            rows = {i: examples(sample.args[i], i) for i in chosen}
            if record.schema.is_inplace and 0 not in chosen:
                continue
            if name in READS_STRIDES and dim != 0:
                continue
            calls = [
                [rows[i][b] if i in rows else a for i, a in enumerate(sample.args)]
                for b in range(BATCH)
            ]
            expected = [flat(sample.fn(*c, **sample.kwargs)) for c in calls]
            args = [
                taeda.stack(rows[i], dim) if i in rows else a for i, a in enumerate(sample.args)
            ]
            in_dims = tuple(dim if i in rows else None for i in range(len(args)))

            def call(*a, sample=sample):
                return sample.fn(*a, **sample.kwargs)

            got = flat(vmap(call, in_dims)(*args))
            assert len(got) == len(expected[0])
            for k, value in enumerate(got):
                wanted = taeda.stack([e[k] for e in expected])
                assert value.dtype == wanted.dtype and value.shape == wanted.shape, (chosen, dim)
                assert taeda.allclose(value, wanted, rtol=1e-10, atol=1e-12), (chosen, dim)
    if "no_batch" not in record.data:
        assert _C._vmap_fallback_count() == before, "it ran once for each example"


def test_few_records_run_once_for_each_example():
    records = [r for r in generator_records.load(RECORDS) if r.kind != "composite"]
    slow = [r.key for r in records if "no_batch" in r.data]
    assert len(slow) < 0.05 * len(records), slow
