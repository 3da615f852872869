"""Runs the lowered records on a CUDA device: values against the CPU, times against PyTorch.

    python tools/gpu_check.py [--values] [--times] [--json FILE] [--only NAME,...] [--part K/N]

Values: every sample of every lowered record, made by NVRTC from the kernel IR. Pointwise operators,
copies, indexing, random numbers and integers must have the CPU's bits; sums of floats have the
device's own order and lie within a tolerance; what the device refuses is listed. Times: 2^24
elements, calls one after the other until the device has done them, PyTorch's kernel beside it in
the same process.
"""

import argparse
import json
import statistics
import sys
import time
import warnings
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/python"), str(ROOT / "tools"), str(ROOT / "tools/gen")]

import taeda  # noqa: E402

DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool"]
DTYPES += ["complex64", "complex128"]
# Floats are combined in another order than on the CPU, or by another formula.
ORDERED = {"reduction", "variance", "normalization", "scan_sort", "loss", "distance"}
COLLIDING = {
    "index_add",
    "scatter_add",
    "scatter_reduce.two",
    "_index_put_impl_",
    "embedding_dense_backward",
}
# The CPU computes them with the C library's functions.
CLOSE = {"log_normal_", "exponential_", "cauchy_", "geometric_", "_fill_spaced_"}


def load():
    path = Path(taeda._C.__file__).parent / "libtaeda_cuda.so"
    if not path.exists():
        sys.exit("libtaeda_cuda.so is not built: the CUDA toolkit was not found")
    return taeda._C._load_device(str(path))


# ---- values ----
def check_values(device, only, part):
    import lowered_calls
    import record_calls
    from sampled_calls import samples

    records = record_calls.records()
    wrong, refused, count = [], [], 0
    keys = [k for k in lowered_calls.lowered() if not only or k in only]
    for key in keys[part[0] :: part[1]]:
        may_differ = records[key].family in ORDERED or key in COLLIDING | CLOSE
        for name in DTYPES:
            for sample in samples(key, getattr(taeda, name)):
                try:
                    taeda.manual_seed(5)
                    expected = sample.results(*sample.tensors)
                except NotImplementedError:
                    continue
                count += 1
                try:
                    problem = compare(lowered_calls, sample, expected, device, may_differ, name)
                except NotImplementedError as error:
                    refused.append((str(sample), error))
                    continue
                if problem:
                    wrong.append((str(sample), problem))
    for text, error in refused:
        print(f"refused: {text}: {error}")
    for text, problem in wrong[:60]:
        print(f"wrong: {text}: {problem}")
    print(
        f"{count - len(wrong) - len(refused)} of {count} samples of the lowered records are right"
    )
    return not wrong


def compare(calls, sample, expected, device, may_differ, dtype):
    taeda.manual_seed(5)
    try:
        results, fallbacks = calls.run_on(sample, device)
    except NotImplementedError:
        raise
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:300]}"
    if fallbacks:
        return f"fell back to the CPU: {fallbacks}"
    for want, got in zip(expected, results):
        if want is None or calls.has_same_bits(want, got):
            continue
        size = {"bfloat16": 2e-2, "float16": 4e-3}.get(dtype, 1e-4)
        is_float = want.is_floating_point() or want.is_complex()
        if (
            may_differ
            and is_float
            and taeda.allclose(want, got.cpu(), rtol=size, atol=size, equal_nan=True)
        ):
            continue
        return f"{want} and {got}".replace("\n", "")[:300]
    return None


# ---- times ----
SIDE = 4096


def timed_calls():
    """(name, function of a library and its tensors, tensors) for both libraries."""
    shape = (SIDE, SIDE)
    full, bf16 = ("float32", shape), ("bfloat16", shape)
    rows = ("float32", (SIDE,))
    index = ("index", shape)
    vector_index = ("index", (SIDE,))
    for name in ("add", "mul", "div", "maximum", "pow", "atan2", "eq"):
        yield name, lambda t, a, b, name=name: getattr(t, name)(a, b), [full, full]
    yield "add bfloat16", lambda t, a, b: t.add(a, b), [bf16, bf16]
    for name in (
        "relu",
        "exp",
        "tanh",
        "sigmoid",
        "erf",
        "lgamma",
        "sqrt",
        "neg",
        "isnan",
        "digamma",
    ):
        yield name, lambda t, a, name=name: getattr(t, name)(a), [full]
    yield "gelu", lambda t, a: t.nn.functional.gelu(a), [full]
    yield "gelu bfloat16", lambda t, a: t.nn.functional.gelu(a), [bf16]
    yield "where", lambda t, a, b: t.where(a, b, b), [("bool", shape), full]
    yield "add broadcast row", lambda t, a, b: t.add(a, b), [full, rows]
    yield "add transposed", lambda t, a, b: t.add(a, b.t()), [full, full]
    yield "copy", lambda t, a: a.clone(), [full]
    yield "copy transposed", lambda t, a: a.t().contiguous(), [full]
    yield "cast to bfloat16", lambda t, a: a.to(t.bfloat16), [full]
    yield "fill", lambda t, a: a.fill_(1.5), [full]
    yield "arange", lambda t, a: t.arange(SIDE * SIDE, device=a.device), [rows]
    for name in ("sum", "mean", "amax", "argmax", "var", "logsumexp", "prod", "any"):
        for dim, way in ((1, "rows"), (0, "columns")):
            yield f"{name} {way}", lambda t, a, name=name, dim=dim: getattr(t, name)(a, dim), [full]
    yield "sum all", lambda t, a: t.sum(a), [full]
    yield "sum all bfloat16", lambda t, a: t.sum(a), [bf16]
    yield "cumsum rows", lambda t, a: t.cumsum(a, 1), [full]
    yield "softmax rows", lambda t, a: t.softmax(a, 1), [full]
    yield "softmax rows bfloat16", lambda t, a: t.softmax(a, 1), [bf16]
    yield "softmax columns", lambda t, a: t.softmax(a, 0), [full]
    yield "log_softmax rows", lambda t, a: t.log_softmax(a, 1), [full]
    yield (
        "layer_norm",
        lambda t, a, w: t.nn.functional.layer_norm(a, (SIDE,), w, w),
        [full, rows],
    )
    yield "gather", lambda t, a, i: t.gather(a, 1, i), [full, index]
    yield "index_select", lambda t, a, i: t.index_select(a, 0, i), [full, vector_index]
    yield "index", lambda t, a, i: a[i], [full, vector_index]
    yield "embedding", lambda t, a, i: t.nn.functional.embedding(i, a), [full, vector_index]
    yield "scatter_add", lambda t, a, i: a.scatter_add(1, i, a), [full, index]
    yield "index_add", lambda t, a, i: a.index_add(0, i, a), [full, vector_index]
    yield "flip", lambda t, a: t.flip(a, (1,)), [full]
    yield "tril", lambda t, a: t.tril(a), [full]
    yield "cat", lambda t, a, b: t.cat([a, b]), [full, full]
    yield "rand", lambda t, a: a.uniform_(), [full]
    yield "randn", lambda t, a: a.normal_(), [full]
    yield "dropout", lambda t, a: t.native_dropout(a, 0.5, True), [full]


def make(library, kind, shape, device):
    if kind == "index":
        values = library.arange(shape[-1] - 1, -1, -1, device=device)
        return values.expand(shape).contiguous() if len(shape) > 1 else values
    if kind == "bool":
        return library.arange(shape[0] * shape[1], device=device).reshape(shape) % 2 == 0
    # Numbers from -1 to 1, away from poles.
    count = 1
    for size in shape:
        count *= size
    line = library.arange(count, device=device).to(library.float32) * (2.0 / count) - 1.0
    return line.reshape(shape).to(getattr(library, kind))


def median_ms(run, wait, repeats=7, calls=20):
    """The median time of a call, many of them between two waits for the device."""
    for _ in range(3):
        run()
    wait()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(calls):
            run()
        wait()
        times.append((time.perf_counter() - start) / calls * 1e3)
    return statistics.median(times)


def check_times(device, only, path):
    import torch

    probe = taeda.zeros(1, device=device)
    rows = []
    for name, call, kinds in timed_calls():
        if only and name not in only:
            continue
        try:
            tensors = [make(taeda, k, s, device) for k, s in kinds]
            before = dict(taeda._C._fallback_counts())
            ours = median_ms(partial(call, taeda, *tensors), probe.item)
            fell = [k for k, v in taeda._C._fallback_counts().items() if v != before.get(k, 0)]
        except Exception as error:
            print(f"{name:26} {type(error).__name__}: {str(error)[:200]}")
            continue
        tensors = None
        theirs = time_torch(torch, call, kinds)
        rows.append({"name": name, "ms": ours, "pytorch_ms": theirs, "fallbacks": fell})
        print(
            f"{name:26} {ours:9.4f} ms  PyTorch {theirs:9.4f} ms  {ours / theirs:6.2f}"
            f"{'  fell back: ' + ', '.join(fell) if fell else ''}",
            flush=True,
        )
    ahead = sum(r["ms"] <= 1.03 * r["pytorch_ms"] for r in rows)
    print(f"{ahead} of {len(rows)} at or ahead of PyTorch {torch.__version__}")
    if path:
        Path(path).write_text(json.dumps(rows, indent=1))
    return True


def time_torch(torch, call, kinds):
    tensors = [make(torch, k, s, "cuda") for k, s in kinds]
    return median_ms(partial(call, torch, *tensors), torch.cuda.synchronize)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--values", action="store_true")
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--only", type=lambda text: text.split(","))
    parser.add_argument(
        "--part",
        type=lambda text: tuple(int(n) for n in text.split("/")),
        default=(0, 1),
        help="K/N: every N-th record from the K-th on, for processes side by side",
    )
    given = parser.parse_args()
    device = load()
    warnings.simplefilter("ignore")
    is_all = not (given.values or given.times)
    is_right = True
    if given.values or is_all:
        is_right &= check_values(device, given.only, given.part)
    if given.times or is_all:
        check_times(device, given.only, given.json)
    sys.exit(0 if is_right else 1)


if __name__ == "__main__":
    main()
