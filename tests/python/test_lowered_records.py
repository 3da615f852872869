"""Every lowered record on devices that run the kernel IR: interpreted, and printed as C++."""

import os
import subprocess
import sys

import lowered_calls
import pytest
from sampled_calls import REFUSES_HALVES, samples

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


HALVES = {"float16", "bfloat16"}


def tolerance(dtype):
    return {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 2e-5)


def check(key, device, dtypes):
    for name in set(dtypes) - (HALVES if key in REFUSES_HALVES else set()):
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


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", KEYS)
def test_interpreted_kernels_are_the_cpus(key, interpreted):
    check(key, interpreted, DTYPES)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", PRINTED)
def test_printed_kernels_are_the_cpus(key, printed):
    check(key, printed, ["float32"])


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", KEYS)
def test_every_printed_kernel_is_the_cpus(key, printed):
    check(key, printed, ["float32", "bfloat16", "int64", "bool", "complex64"])


# ---- indices out of range ----
@pytest.mark.parametrize("name", lowered_calls.INDEXED)
def test_an_index_out_of_range_is_the_cpus_error_and_writes_nothing(name, interpreted):
    call = lowered_calls.INDEXED[name]
    index = taeda.tensor(lowered_calls.BAD_INDEX)
    before = taeda.arange(12.0).reshape(4, 3)
    with pytest.raises((IndexError, RuntimeError)) as expected:
        call(before.clone(), index)
    there = before.to(interpreted)
    with pytest.raises(expected.type) as found:
        call(there, index.to(interpreted))
    assert str(found.value) == str(expected.value)
    assert taeda.equal(there.cpu(), before)
    # The device goes on.
    assert taeda.equal((there + 1).cpu(), before + 1)


def test_one_kernel_serves_all_sizes(interpreted):
    made = taeda._C._lowered_counts()
    for rows in (3, 8, 61):
        for columns in (2, 5, 100):
            x = taeda.arange(rows * columns).reshape(rows, columns).float()
            assert taeda.equal(x.to(interpreted).softmax(1).cpu(), x.softmax(1))
    assert taeda._C._lowered_counts()["made"] <= made["made"] + 4  # arange, cast, softmax


def test_kernels_are_not_shared_where_a_number_is_rounded(interpreted):
    x = taeda.tensor([0.10009765625, 3.0], dtype=taeda.bfloat16)
    # A number of the dtype itself needs no rounding; one beside it does.
    for number in (taeda.tensor(0.5, dtype=taeda.bfloat16), 0.1, taeda.tensor(0.1)):
        assert taeda.equal((x.to(interpreted) == number).cpu(), x == number)
        assert taeda.equal((x.to(interpreted) - number).cpu(), x - number)


def test_kernels_are_not_shared_between_kept_and_reduced_axes(interpreted):
    line, column = taeda.tensor([1.0, 2.0, 3.0]), taeda.ones(3, 1)
    for operator in (taeda.cumsum, taeda.cumprod, taeda.softmax, taeda.log_softmax, taeda.sum):
        for x, dim in ((column, 1), (line, 0), (column, 0)):
            assert taeda.equal(operator(x.to(interpreted), dim).cpu(), operator(x, dim))


def test_numbers_are_written_through_indices(interpreted):
    x = taeda.ones(4, device=interpreted)
    x[taeda.tensor([0, 1], device=interpreted)] = 3.0
    assert x.cpu().tolist() == [3.0, 3.0, 1.0, 1.0]
    x[x > 2] = 5.0
    assert x.cpu().tolist() == [5.0, 5.0, 1.0, 1.0]


def test_fills_are_the_cpus(interpreted):
    assert taeda.full((2,), 0.5, dtype=taeda.bool, device=interpreted).cpu().tolist() == [
        True,
        True,
    ]
    x = taeda.zeros(3, device=interpreted)
    x.expand(2, 3).fill_(3.0)
    assert x.cpu().tolist() == [3.0, 3.0, 3.0]
    with pytest.raises(RuntimeError, match="without overflow"):
        taeda.zeros(2, dtype=taeda.uint8, device=interpreted).fill_(300)


def test_copies_between_overlapping_memory_are_refused(interpreted):
    x = taeda.arange(6.0, device=interpreted)
    with pytest.raises(RuntimeError, match="single memory location"):
        x[1:].copy_(x[:-1])


def test_binaries_are_kept_on_disk(tmp_path):
    code = (
        "import sys, taeda; d = taeda._C._load_device(sys.argv[1]); x = taeda.ones(5, device=d)\n"
        "assert (x + x).sum().item() == 10; print(taeda._C._lowered_counts()['from_disk'])"
    )
    plugin = str(lowered_calls.DEVICES / "libprinted_device.so")
    environment = {**os.environ, "TAEDA_CACHE_DIR": str(tmp_path / "cache")}
    found = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code, plugin], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        found.append(int(done.stdout))
    assert found[0] == 0 and found[1] >= 2
