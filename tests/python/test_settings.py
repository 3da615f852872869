"""Settings of the process: determinism, precision of products, threads; mixed precision of CUDA."""

import importlib
import subprocess
import sys
import warnings

import pytest
from taeda.fx.experimental.proxy_tensor import make_fx
from taeda.utils import deterministic

import taeda as t


@pytest.fixture(autouse=True)
def settings_before():
    precision = t.get_float32_matmul_precision()
    yield
    t.use_deterministic_algorithms(False)
    deterministic.fill_uninitialized_memory = True
    t.set_float32_matmul_precision(precision)


# ---- determinism ----
@pytest.mark.parametrize("number, name", enumerate(["default", "warn", "error"]))
def test_modes_of_determinism(number, name):
    for mode in (number, name):
        t.use_deterministic_algorithms(number == 0)
        t.set_deterministic_debug_mode(mode)
        assert t.get_deterministic_debug_mode() == number
        assert t.are_deterministic_algorithms_enabled() == (number > 0)
        assert t.is_deterministic_algorithms_warn_only_enabled() == (number == 1)


def test_operators_repeat_their_results_and_are_not_refused():
    t.use_deterministic_algorithms(True)
    index = t.randint(0, 50, (20_000,))
    source = t.randn(20_000)
    for call in (
        lambda: t.zeros(50).index_add_(0, index, source),
        lambda: t.zeros(50).scatter_add_(0, index, source),
        lambda: t.zeros(50).index_put_((index,), source, accumulate=True),
        lambda: t.zeros(50).put_(index, source),
        lambda: t.zeros(50).index_copy_(0, index, source),
        lambda: source.cumsum(0),
        lambda: t.bincount(index, source),
    ):
        first = call()
        assert all(first.equal(call()) for _ in range(3))


DTYPES = (
    "float32 float64 bfloat16 float16 float8_e4m3fn complex64 bool uint8 int8 uint16 int64 uint64"
)


def new_memory(lib, dtype):
    """Memory that nobody has written to, by every way to get it."""
    options = {"dtype": getattr(lib, dtype)}
    some = lib.ones(2, **options)
    yield lib.empty(3, **options)
    yield lib.empty(0, **options)
    yield lib.empty((1, 2, 2, 2), memory_format=lib.channels_last, **options)
    yield lib.empty_strided((2, 2), (1, 3), **options)
    yield lib.empty_permuted((2, 3), (1, 0), **options)
    yield lib.empty_like(some)
    yield some.new_empty(3)
    yield some.new_empty_strided((2,), (2,))
    yield lib.ones(2, **options).resize_(5)
    yield lib.ones(2, **options).resize_(1)
    yield lib.ones(2, **options).resize_as_(lib.ones(2, 2))


@pytest.mark.parametrize("dtype", ["float32", "complex64", "bool", "uint8", "int64"])
def test_compiled_programs_fill_new_memory(dtype):
    def make(x):
        return x.new_empty(3), t.empty_like(x), t.empty_strided((2,), (1,)), x.clone().resize_(4)

    x = t.ones(2, dtype=getattr(t, dtype))
    compiled = t.compile(make)
    compiled(x)  # what is read then may be anything
    t.use_deterministic_algorithms(True)
    for got, want in zip(compiled(x), make(x), strict=True):
        t.testing.assert_close(got, want, equal_nan=True, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", DTYPES.split())
def test_new_memory_is_filled_as_in_pytorch(torch, dtype):
    for lib in (t, torch):
        lib.use_deterministic_algorithms(True)
    try:
        pairs = zip(new_memory(t, dtype), new_memory(torch, dtype), strict=True)
        for got, expected in pairs:
            kind = (lambda x: x.float()) if dtype.startswith("float8") else lambda x: x
            assert str(kind(got).tolist()) == str(kind(expected).tolist())
    finally:
        torch.use_deterministic_algorithms(False)


def test_filling_can_be_left_out():
    t.use_deterministic_algorithms(True)
    assert deterministic.fill_uninitialized_memory and t.empty(1000).isnan().all()
    deterministic.fill_uninitialized_memory = False
    assert not deterministic.fill_uninitialized_memory
    assert t.are_deterministic_algorithms_enabled()
    before = t.zeros(1000)
    assert before.untyped_storage().nbytes() == 4000  # of this size there is kept memory again
    del before
    assert not t.empty(1000).isnan().all()


def test_a_trace_shows_the_factory_alone():
    t.use_deterministic_algorithms(True)
    graph = make_fx(lambda x: t.empty(2).copy_(x))(t.ones(2)).graph
    names = [str(node.target) for node in graph.nodes if node.op == "call_function"]
    assert names == ["aten.empty.memory_format", "aten.copy_.default"]


@pytest.mark.parametrize(
    "call",
    [
        "lib.use_deterministic_algorithms(1)",
        "lib.use_deterministic_algorithms(True, warn_only=1)",
        "lib.set_deterministic_debug_mode(3)",
        "lib.set_deterministic_debug_mode('x')",
        "lib.set_deterministic_debug_mode(1.5)",
        "lib.set_float32_matmul_precision(1)",
        "lib.set_num_interop_threads(0)",
        "lib.set_num_interop_threads('a')",
        "setattr(lib.utils.deterministic, 'fill_uninitialized_memory', 1)",
    ],
)
def test_refusals_are_pytorchs(torch, call):
    importlib.import_module("torch.utils.deterministic")

    def outcome(lib):
        with pytest.raises((TypeError, RuntimeError)) as caught:
            eval(call, {"lib": lib})
        return caught.type, str(caught.value)

    assert outcome(t) == outcome(torch)


# ---- products and threads ----
def test_precision_of_products():
    from taeda.backends import cuda

    a = t.randn(64, 64)
    exact = a @ a
    for precision, is_allowed in (("high", True), ("medium", True), ("highest", False)):
        t.set_float32_matmul_precision(precision)
        assert t.get_float32_matmul_precision() == precision
        assert cuda.matmul.allow_tf32 == is_allowed and exact.equal(a @ a)
    cuda.matmul.allow_tf32 = True
    assert t.get_float32_matmul_precision() == "high"
    with pytest.warns(UserWarning, match="x is not one of 'highest', 'high', or 'medium'"):
        t.set_float32_matmul_precision("x")
    assert t.get_float32_matmul_precision() == "high"


def test_threads_between_operators_are_set_once():
    program = """
import taeda as t
assert t.get_num_interop_threads() == t.get_num_threads()
t.set_num_interop_threads(3)
assert t.get_num_interop_threads() == 3
try:
    t.set_num_interop_threads(3)
except RuntimeError as error:
    assert "cannot set number of interop threads" in str(error)
else:
    raise AssertionError("set twice")
"""
    subprocess.run([sys.executable, "-c", program], check=True)


# ---- the older names of mixed precision ----
CALLS = [
    "lib.cuda.amp.autocast(enabled=False)",
    "lib.cuda.amp.GradScaler(enabled=False)",
    "lib.cuda.amp.custom_fwd(lambda ctx, x: x)",
    "lib.cuda.amp.custom_bwd(lambda ctx, x: x)",
]


@pytest.mark.parametrize("call", CALLS)
def test_older_names_warn_as_pytorchs(torch, call):
    def told(lib):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            eval(call, {"lib": lib})
        return [
            (w.category, str(w.message), w.filename) for w in caught if "cuda.amp" in str(w.message)
        ]

    assert told(t) == told(torch)


def test_older_names_are_the_newer_ones():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scaler, region = t.cuda.amp.GradScaler(), t.cuda.amp.autocast(enabled=False)
    assert isinstance(scaler, t.amp.GradScaler) and isinstance(region, t.amp.autocast)
    assert t.cuda.amp.amp_definitely_not_available()
    with region:
        assert not t.is_autocast_enabled("cuda")
