"""The order of reductions belongs to the record: no stride and no number of threads changes a bit.

Samples are small, so the random cases draw shapes with several chunks of 4096 elements and more
lines than a strip has.
"""

import math
import random

import pytest
import record_calls
from sampled_calls import REFUSES_HALVES, samples

import taeda

# The families whose operators reduce, normalize or scan.
FAMILIES = {"distance", "loss", "normalization", "reduction", "scan_sort", "variance"}
KEYS = [k for k, r in record_calls.sampled().items() if r.family in FAMILIES]
DTYPES = [taeda.float32, taeda.float64, taeda.bfloat16]
THREADS = (1, 2, 3)
# The first two take contiguous tensors only, as in PyTorch, the last what its forward pass made.
CONTIGUOUS_ONLY = {"_pdist_forward", "_pdist_backward", "_fused_cross_entropy_backward"}


@pytest.fixture(autouse=True)
def same_threads():
    threads = taeda.get_num_threads()
    yield
    taeda.set_num_threads(threads)


def contiguous(x):
    return x.contiguous()


def transposed(x):
    dims = list(reversed(range(x.dim())))
    return x.permute(dims).contiguous().permute(dims)


def sliced(x):
    """Every second element of a larger tensor that starts in its middle."""
    larger = x.new_zeros([2 * size + 3 for size in x.shape])
    view = larger[tuple(slice(1, 2 * size + 1, 2) for size in x.shape)]
    return view.copy_(x)


LAYOUTS = (contiguous, transposed, sliced)


def bits(results):
    """The results' bytes in row-major order."""
    if isinstance(results, (tuple, list)):
        return [b for r in results for b in bits(r)]
    if not isinstance(results, taeda.Tensor):
        return [results]
    return [results.contiguous().reshape(-1).view(taeda.uint8).tolist()]


def check_bits(what, call, tensors, written=(), layouts=LAYOUTS):
    expected = None
    for layout in layouts:
        moved = [layout(x) if x.dim() and i not in written else x for i, x in enumerate(tensors)]
        for threads in THREADS:
            taeda.set_num_threads(threads)
            got = bits(call(*moved))
            expected = expected or got
            assert got == expected, f"{what}: {layout.__name__}, {threads} threads"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("key", KEYS)
def test_samples_have_the_same_bits_in_every_layout(key):
    layouts = LAYOUTS[:1] if key in CONTIGUOUS_ONLY else LAYOUTS
    for dtype in DTYPES[:2] if key in REFUSES_HALVES else DTYPES:
        for sample in samples(key, dtype):
            check_bits(sample, sample.results, sample.tensors, sample.written, layouts)


# Calls over some dimensions of a tensor.
CALLS = {
    "sum": lambda x, dims: x.sum(dims),
    "mean": lambda x, dims: x.mean(dims),
    "prod": lambda x, dims: x.prod(dims[0]),
    "amax": lambda x, dims: x.amax(dims),
    "max": lambda x, dims: tuple(x.max(dims[0])),
    "argmin": lambda x, dims: x.argmin(dims[0]),
    "argmax of all": lambda x, dims: x.argmax(),
    "var_mean": lambda x, dims: taeda.var_mean(x, dims, correction=0),
    "logsumexp": lambda x, dims: x.logsumexp(dims),
    "count_nonzero": lambda x, dims: taeda.count_nonzero(x, dims),
    "all": lambda x, dims: (x > -1).all(dims[0]),
    "norm": lambda x, dims: taeda.linalg.vector_norm(x, 2, dims),
    "softmax": lambda x, dims: x.softmax(dims[0]),
    "log_softmax": lambda x, dims: x.log_softmax(dims[0]),
    "cumsum": lambda x, dims: x.cumsum(dims[0]),
    "mse_loss": lambda x, dims: taeda.nn.functional.mse_loss(x, x.exp()),
    "layer_norm": lambda x, dims: taeda.native_layer_norm(x, x.shape[-1:], None, None, 1e-5),
    "batch_norm": lambda x, dims: taeda.native_batch_norm(
        x, None, None, None, None, True, 0.1, 1e-5
    ),
}
SIZES = (1, 2, 3, 5, 8, 16, 17, 31, 64, 65, 130)


def random_case(rng):
    """A call, a shape of at most 40,000 elements, and dimensions of it."""
    ndim = rng.choice((1, 2, 2, 3, 3, 4))
    shape = [rng.choice(SIZES) for _ in range(ndim)]
    if rng.random() < 0.3:
        shape[rng.randrange(ndim)] = rng.randrange(4097, 12000)
    while math.prod(shape) > 40000:
        largest = max(range(ndim), key=lambda d: (shape[d], rng.random()))
        shape[largest] = (shape[largest] + 1) // 2
    name = rng.choice([n for n in CALLS if n != "batch_norm" or ndim > 1])
    dims = rng.sample(range(ndim), rng.randint(1, ndim))
    return name, shape, sorted(dims), rng.choice(DTYPES)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_random_shapes_have_the_same_bits_in_every_layout(seed):
    rng = random.Random(seed)
    for _ in range(50):
        name, shape, dims, dtype = random_case(rng)
        x = taeda.randn(*shape, dtype=taeda.float64).to(dtype)
        what = f"{name} of {shape} over {dims} in {dtype}"
        check_bits(what, lambda v, name=name, dims=dims: CALLS[name](v, dims), [x])
