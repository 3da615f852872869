"""Every lowered record on devices that run the kernel IR: interpreted, and printed as C++."""

import lowered_calls
import pytest
from sampled_calls import samples

import taeda

KEYS = lowered_calls.lowered()
DTYPES = [
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "uint8",
    "bool",
    "complex64",
]
# The CPU sums these in double precision, or by another formula.
CLOSE = {
    "_native_batch_norm_legit_functional",
    "_reduced_squared_difference",
    "log_normal_",
    "native_batch_norm_backward",
    "nll_loss_forward",
    "nll_loss2d_forward",
    "_fused_cross_entropy",
    "_fused_cross_entropy_backward",
    "logsumexp",
    "std.correction",
    "std_mean.correction",
    "var.correction",
    "var_mean.correction",
}
# One of each kind of kernel: what a compiler is asked for in every run.
PRINTED = [
    "add.Tensor",
    "gelu",
    "where.self",
    "sum.dim_IntList",
    "argmax",
    "cumsum",
    "_softmax",
    "native_layer_norm",
    "gather",
    "index.Tensor",
    "index_add",
    "native_dropout",
    "normal_",
    "flip",
    "tril",
]


@pytest.fixture(scope="module")
def interpreted():
    return lowered_calls.load("interpreted")


@pytest.fixture(scope="module")
def printed():
    return lowered_calls.load("printed")


# Dtypes that the operator refuses, on the CPU too.
REFUSED = {
    "_fused_cross_entropy": {"float16", "bfloat16"},
    "_fused_cross_entropy_backward": {"float16", "bfloat16"},
}


def tolerance(dtype):
    return {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 2e-5)


def check(key, device, dtypes):
    for name in set(dtypes) - REFUSED.get(key, set()):
        for sample in samples(key, getattr(taeda, name)):
            taeda.manual_seed(5)
            expected = sample.results(*sample.tensors)
            taeda.manual_seed(5)
            results, fallbacks = lowered_calls.run_on(sample, device)
            assert not fallbacks, f"{sample} fell back"
            assert len(results) == len(expected)
            for want, got in zip(expected, results):
                if want is None:
                    assert got is None
                elif key in CLOSE and (want.is_floating_point() or want.is_complex()):
                    size = tolerance(name)
                    taeda.testing.assert_close(
                        got.cpu(), want, rtol=size, atol=size, equal_nan=True
                    )
                else:
                    assert lowered_calls.has_same_bits(want, got), f"{sample}: {want} and {got}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", KEYS)
def test_interpreted_kernels_are_the_cpus(key, interpreted):
    check(key, interpreted, DTYPES)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", PRINTED)
def test_printed_kernels_are_the_cpus(key, printed):
    check(key, printed, ["float32"])


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", KEYS)
def test_every_printed_kernel_is_the_cpus(key, printed):
    check(key, printed, ["float32", "bfloat16", "int64", "bool", "complex64"])
