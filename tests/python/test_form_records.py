"""Dtypes of every record's samples, and their out and in-place forms beside the functional one."""

import warnings

import pytest
import record_calls
from sampled_calls import REFUSES_HALVES, Sample, flat, samples

import taeda

KEYS = list(record_calls.sampled())
HALVES = {"float16", "bfloat16"}


def has_own_dtype(sample):
    """Whether a tensor of the call has the dtype under test."""
    return any(t.dtype == sample.call.dtype for t in sample.tensors)


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", KEYS)
def test_every_dtype_of_an_accepted_class(key):
    for letter in record_calls.accept(key):
        for name in record_calls.DTYPES[letter]:
            for sample in samples(key, getattr(taeda, name)):
                # The determinant of a matrix without elements needs no factors.
                is_trivial = key == "linalg_det" and sample.tensors[0].numel() == 0
                if key in REFUSES_HALVES and name in HALVES and not is_trivial:
                    with pytest.raises(RuntimeError):
                        sample(*sample.tensors)
                else:
                    sample(*sample.tensors)


# They take more classes than PyTorch's do, for which there are no samples.
SPACED = ("linspace", "logspace")
BOUNDS = ("Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor")
CONVOLUTIONS = ("convolution", "convolution_backward")
SPACED_BOUNDS = (f"{name}.{b}" for name in SPACED for b in BOUNDS)
TAKES_MORE = {"_conj", "_fill_spaced_", *CONVOLUTIONS, *SPACED_BOUNDS}
# Of the integers they take int64 alone, as PyTorch's.
TAKES_MORE |= {f"avg_pool{n}d{tail}" for n in (2, 3) for tail in ("", "_backward")}
# A number beside booleans promotes them.
TAKES_MORE |= {"searchsorted.Scalar", "bucketize.Scalar"}
# The class is that of the weights, which may have any; the counted numbers are integers.
TAKES_MORE.add("bincount")


def refused(record):
    """The dtype classes that raise. A number promotes what a body would refuse, and so does a rule."""
    # A composite takes what its parts take.
    if record.key in TAKES_MORE or record.kind == "composite":
        return set()
    tensors = [a.type.is_tensor for a in record.schema.arguments]
    if record.kind == "pointwise" and not all(tensors):
        return set()
    promoted = set("bi") if record.data.get("dtype") == "float" else set()
    return set("bifc") - set(record_calls.accept(record.key)) - promoted


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", KEYS)
def test_a_class_that_is_not_accepted_raises(key):
    for letter in refused(record_calls.records()[key]):
        call = record_calls.Call(key, record_calls.texts(key)[0], dtype_of(letter))
        if call.arguments() is None:
            continue
        sample = Sample(call)
        if has_own_dtype(sample):
            with pytest.raises((RuntimeError, TypeError, ValueError, IndexError)):
                sample(*sample.tensors)


def dtype_of(letter):
    return getattr(taeda, record_calls.DTYPES[letter][0])


def agree(got, expected):
    assert got.dtype == expected.dtype and got.shape == expected.shape
    assert taeda.equal(got.isnan(), expected.isnan())
    assert taeda.equal(got.nan_to_num(), expected.nan_to_num())


def form(record, schema):
    return record_calls.overload(schema.full_name)


def is_determined(record):
    return "no_golden" not in record.data


OUT = [
    k for k in KEYS if record_calls.records()[k].out and is_determined(record_calls.records()[k])
]
INPLACE = [
    k
    for k in KEYS
    if record_calls.records()[k].inplace and is_determined(record_calls.records()[k])
]


def arguments_of(sample, drop=()):
    args, kwargs = sample.call.arguments()
    return args, {name: value for name, value in kwargs.items() if name not in drop}


def strided(t):
    """Memory of a tensor's size with gaps between rows, holding something else."""
    wide = taeda.full((*t.shape, 2), 7, dtype=t.dtype)
    return wide.select(-1, 1)


# As in PyTorch they resize without a word.
RESIZES_SILENTLY = {"adaptive_avg_pool2d", "adaptive_avg_pool3d"}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("key", OUT)
def test_out_forms(key):
    """Into tensors of the right size, of a wrong one, and with gaps."""
    record = record_calls.records()[key]
    op, outs = form(record, record.out), [a.name for a in record.out.outs]
    known = {a.name for a in record.out.arguments}
    for sample in samples(key, taeda.float64) or samples(key, taeda.complex128):
        expected = sample.results(*sample.tensors)
        drop = {a.name for a in record.schema.arguments} - known
        for made in (taeda.zeros_like, strided):
            args, kwargs = arguments_of(sample, drop)
            given = [made(e) for e in expected]
            result = flat(op(*args, **kwargs, **dict(zip(outs, given))))
            for r, o, e in zip(result, given, expected):
                assert r is o
                agree(o, e)
        args, kwargs = arguments_of(sample, drop)
        given = [taeda.zeros(e.numel() + 3, dtype=e.dtype) for e in expected]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            op(*args, **kwargs, **dict(zip(outs, given)))
        for o, e in zip(given, expected):
            agree(o, e)
        warned = any("resized" in str(w.message) for w in caught)
        if key in RESIZES_SILENTLY:
            assert not warned, str(sample)
        else:
            assert warned or record.data.get("factory"), str(sample)


@pytest.mark.parametrize("key", INPLACE)
def test_inplace_forms(key):
    """The functional result, or an error where that does not fit the first argument."""
    record = record_calls.records()[key]
    op = form(record, record.inplace)
    for dtype in (taeda.float64, taeda.int64):
        for sample in samples(key, dtype):
            expected = sample.results(*sample.tensors)[0]
            args, kwargs = sample.call.arguments()
            first = args[0]
            fits = first.shape == expected.shape and taeda.can_cast(expected.dtype, first.dtype)
            try:
                assert op(*args, **kwargs) is first
            except RuntimeError:
                assert not fits
                continue
            agree(first, expected.to(first.dtype))
