"""What may go wrong around compiled programs: compilers, caches, forks, signals, memory, sizes."""

import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from taeda._inductor import compile
from test_inductor_tools import PROGRAM, run_program, script_compiler, traced

import taeda as t
import taeda.nn.functional as F

pytestmark = pytest.mark.slow

X = t.randn(6, 10)


def settle(compiled, f, *inputs):
    """Runs while kernels are compiled, and a last time."""
    for _ in range(3):
        assert t.equal(compiled(*inputs), f(*inputs))
    compiled.wait()
    assert t.equal(compiled(*inputs), f(*inputs))


# ---- compilers ----
@pytest.mark.parametrize(
    "text, message",
    [
        ("kill -9 $$", "killed by SIGKILL"),
        ("echo no room >&2; exit 3", "exit status 3"),
        ("exit 0", "made no shared object"),
        ("sleep 60", "stopped after 0.5 seconds"),
        ("printf 'caf\\351'; exit 3", r"caf\xe9"),
    ],
    ids=["killed", "failing", "empty", "hanging", "latin"],
)
def test_a_bad_compiler_leaves_kernels_interpreted(tmp_path, monkeypatch, text, message):
    monkeypatch.setenv("TAEDA_CXX", script_compiler(tmp_path, text))
    monkeypatch.setenv("TAEDA_COMPILE_TIMEOUT", "0.5")

    def f(x):
        return (x * 1.4375).exp()

    compiled = compile(traced(f, X), [X])
    with pytest.warns(UserWarning, match=f"stay interpreted(.|\n)*{re.escape(message)}"):
        settle(compiled, f, X)
    (report,) = compiled.report()
    assert report["native"] == 0 and message in report["problem"]


def test_a_hanging_compiler_is_not_asked_for_each_kernel(tmp_path, monkeypatch):
    runs = tmp_path / "runs"
    monkeypatch.setenv("TAEDA_CXX", script_compiler(tmp_path, f"echo run >>{runs}; sleep 60"))
    monkeypatch.setenv("TAEDA_COMPILE_TIMEOUT", "0.5")

    def f(x):
        return (x * 2.4375).sin().sort()[0].exp() + 1

    compiled = compile(traced(f, X), [X])
    with pytest.warns(UserWarning, match="stopped after 0.5 seconds"):
        compiled.wait()
    (report,) = compiled.report()
    assert report["kernels"] == 2 and report["native"] == 0
    assert runs.read_text().splitlines() == ["run"]


def test_a_slow_compiler_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setenv("TAEDA_CXX", script_compiler(tmp_path, 'sleep 1; exec c++ "$@"'))

    def f(x):
        return (x * 1.5625).exp()

    start = time.monotonic()
    compiled = compile(traced(f, X), [X])
    assert t.equal(compiled(X), f(X))
    assert time.monotonic() - start < 0.9
    compiled.wait()
    assert compiled.report()[0]["native"] == 1


def test_one_bad_kernel_leaves_the_others_native(tmp_path, monkeypatch):
    # 2.375 as bits.
    text = 'for last; do :; done; grep -q 0x40180000u "$last" && exit 1; exec c++ "$@"'
    monkeypatch.setenv("TAEDA_CXX", script_compiler(tmp_path, text))

    def f(x):
        y = (x + 3).sin() @ x.t()
        return ((t.full_like(y, 2.375) + y) @ x).exp()

    compiled = compile(traced(f, X), [X])
    with pytest.warns(UserWarning, match="stay interpreted"):
        compiled.wait()
    (report,) = compiled.report()
    assert (report["kernels"], report["native"]) == (3, 2)
    assert t.equal(compiled(X), f(X))


# ---- the cache ----
WAITS = (
    PROGRAM
    + """
compiled = compile(gm, [x], native="wait")
assert t.equal(compiled(x), f(x))
print(compiled.report()[0]["native"])
"""
)


def test_a_damaged_cache_is_compiled_anew(tmp_path):
    variables = {"TAEDA_CACHE_DIR": str(tmp_path)}
    assert run_program(WAITS, **variables).stdout == "1\n"
    (entry,) = tmp_path.iterdir()
    entry.write_bytes(entry.read_bytes()[:-100])
    again = run_program(WAITS, **variables)
    assert again.stdout == "1\n" and "holds an entry that is not used" in again.stderr
    assert run_program(WAITS, **variables).stderr == ""


@pytest.mark.parametrize("place", ["/proc/taeda", "/dev/null"])
def test_a_cache_that_cannot_be_written(place):
    done = run_program(WAITS, TAEDA_CACHE_DIR=place)
    assert done.stdout == "1\n" and "[disk cache]" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_cache_of_another_owner_is_not_used(tmp_path):
    variables = {"TAEDA_CACHE_DIR": str(tmp_path)}
    assert run_program(WAITS, **variables).stdout == "1\n"
    (entry,) = tmp_path.iterdir()
    os.chown(entry, 12345, 12345)
    again = run_program(WAITS, **variables)
    assert again.stdout == "1\n" and "it belongs to user 12345" in again.stderr


def test_processes_share_a_cache(tmp_path):
    variables = {**os.environ, "TAEDA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", WAITS]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = [subprocess.Popen(command, env=variables, **pipes) for _ in range(3)]
    for process in running:
        assert process.communicate(timeout=120) == ("1\n", "")
    assert len(list(tmp_path.iterdir())) == 1


# ---- signals and processes ----
def test_an_interrupt_ends_the_wait_and_nothing_else(tmp_path):
    program = (
        PROGRAM
        + """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job would ignore it
compiled = compile(gm, [x])
print("ready", flush=True)
try:
    compiled.wait()
except KeyboardInterrupt:
    print("interrupted")
assert t.equal(compiled(x), f(x))
compiled.wait()
print(compiled.report()[0]["native"])
"""
    )
    script = script_compiler(tmp_path, 'sleep 2; exec c++ "$@"')
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "TAEDA_CXX": script, "TAEDA_CACHE_DIR": ""},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[0] == "interrupted\n1\n"


def test_an_interrupt_ends_the_writing_of_a_package(tmp_path):
    program = """
import signal, sys, threading, time
import taeda as t
from taeda._inductor import aoti_compile_and_package
from taeda.export import export

signal.signal(signal.SIGINT, signal.default_int_handler)
exported = export(t.nn.Sequential(t.nn.Linear(5, 3), t.nn.GELU()), (t.randn(4, 5),))
threading.Timer(0.5, signal.pthread_kill, (threading.get_ident(), signal.SIGINT)).start()
start = time.monotonic()
try:
    aoti_compile_and_package(exported, package_path=sys.argv[1])
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - start < 20)
"""
    script = script_compiler(tmp_path, 'case "$*" in *version*) exec c++ "$@";; esac; sleep 60')
    package = tmp_path / "packages" / "model.pt2"
    package.parent.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", program, str(package)],
        env={**os.environ, "TAEDA_CXX": script, "TAEDA_CACHE_DIR": ""},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "interrupted True\n", done.stderr
    assert not list(package.parent.iterdir())


@pytest.mark.parametrize("is_pending", [True, False])
def test_a_forked_child_goes_on(tmp_path, is_pending):
    program = (
        PROGRAM
        + f"""
import os
compiled = compile(gm, [x], native="background" if {is_pending} else "wait")
child = os.fork()
assert t.equal(compiled(x), f(x))
compiled.wait()
assert t.equal(compiled(x), f(x))
assert compiled.report()[0]["native"] == 1
if child == 0:
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
print("both")
"""
    )
    script = script_compiler(tmp_path, 'sleep 0.5; exec c++ "$@"')
    done = run_program(program, TAEDA_CXX=script, TAEDA_CACHE_DIR="")
    assert done.stdout == "both\n", done.stderr


def test_threads_run_while_kernels_arrive(tmp_path, monkeypatch):
    monkeypatch.setenv("TAEDA_CXX", script_compiler(tmp_path, 'sleep 0.3; exec c++ "$@"'))

    def f(x):
        return F.softmax(x @ x.t(), -1) * 1.6875

    compiled = compile(traced(f, X), [X])
    inputs = [t.randn(n % 30 + 2, 10) for n in range(400)]
    want = [f(x) for x in inputs]
    with ThreadPoolExecutor(4) as pool:
        deadline = time.monotonic() + 60
        while compiled.report()[0]["native"] == 0 and time.monotonic() < deadline:
            have = list(pool.map(compiled, inputs))
            assert all(t.equal(a, b) for a, b in zip(want, have, strict=True))
    assert compiled.report()[0]["native"] == 1


def test_the_end_of_a_process_does_not_wait_for_the_compiler(tmp_path):
    script = script_compiler(tmp_path, "sleep 50")
    start = time.monotonic()
    done = run_program(PROGRAM + "compile(gm, [x])(x)\n", TAEDA_CXX=script, TAEDA_CACHE_DIR="")
    assert done.returncode == 0 and time.monotonic() - start < 30


# ---- memory ----
def test_memory_that_is_not_there():
    def f(x):
        y = x * 2
        return (y[:, None] * y[None, :]).cumsum(0), y

    compiled = compile(traced(f, t.randn(6)), [t.randn(6)], native="never")
    large = t.ones(4_000_000)
    before = large.clone()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="allocate"):
            compiled(large)
        assert t.equal(large, before)
        small = t.randn(5)
        assert all(t.equal(a, b) for a, b in zip(f(small), compiled(small), strict=True))


# ---- sizes ----
SIZED = {
    "pointwise": lambda x: (x + 1).relu() * x[:, :1],
    "softmax": lambda x: F.softmax(x, 0),
    "sum": lambda x: x.sum(0) + x.sum(),
    "cat": lambda x: t.cat([x, x * 2]),
    "views": lambda x: x.t().reshape(-1) + 1,
    "product": lambda x: (x @ x.t()).exp(),
    "gather": lambda x: x[:, t.tensor([1, 0])],
}


@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("name", SIZED)
def test_no_elements_and_one(name, size):
    f, x = SIZED[name], t.randn(size, 10)
    for mode in ("symbolic", "real"):
        gm = t.fx.experimental.proxy_tensor.make_fx(f, tracing_mode=mode, pre_dispatch=True)(x)
        compiled = compile(gm, [x], native="never")
        assert t.equal(compiled(x), f(x)) and compiled(x).stride() == f(x).stride()


@pytest.mark.parametrize("name", SIZED)
def test_a_plan_of_many_elements_on_none_and_one(name):
    f = SIZED[name]
    compiled = compile(traced(f, X), [X], native="wait")
    for size in (0, 1, 2):
        x = t.randn(size, 10)
        assert t.equal(compiled(x), f(x))


def test_gradients_of_no_elements():
    x = t.randn(0, 10, requires_grad=True)

    def f(x):
        return (x.sin() * 2).sum(0)

    compiled = compile(traced(f, x), [x], native="never")
    (grad,) = t.autograd.grad(compiled(x).sum(), x)
    assert grad.shape == (0, 10)


def test_sums_over_nothing_beside_values_of_nothing():
    def f(x):
        none = x[:, 10:]
        return none.flatten().sum(0), none + x[:, :1], none.sum((0, 1)), none.sum(1)

    for mode in ("symbolic", "real"):
        gm = t.fx.experimental.proxy_tensor.make_fx(f, tracing_mode=mode, pre_dispatch=True)(X)
        have = compile(gm, [X], native="never")(X)
        assert all(t.equal(a, b) for a, b in zip(f(X), have, strict=True))


# ---- values ----
EXTREMES = t.tensor([0.0, -0.0, float("nan"), float("inf"), -float("inf"), 3e38, -3e38, 1e-45, 1.0])
VALUES = {
    "chain": lambda x: (x * 2 - x).exp().log1p(),
    "products": lambda x: x * 0 + x / x + x.reciprocal(),
    "extremes": lambda x: (x.amax(), x.amin(), x.argmax(), x.argmin(), x.max(0)[1]),
    "sums": lambda x: (x.sum(), x[3:].sum(), x.cumsum(0), x.prod(), x[5:].mean()),
    "softmax": lambda x: (x.softmax(0), x[3:].log_softmax(0), x[5:].logsumexp(0)),
    "comparisons": lambda x: (x < 0, x == x, t.maximum(x, x.flip(0)), x.clamp(-1, 1), x.sign()),
    "casts": lambda x: (x.half(), x.bfloat16(), x.double(), x.bool(), x[5:7].half()),
    "integers": lambda x: tuple(
        v.to(dtype)
        for v in (x, x.double(), t.complex(x, x), x.double().mul(1e20))
        for dtype in (t.int64, t.int32, t.int16, t.uint8, t.uint64)
    ),
    # Numbers that a compiler of printed kernels knows.
    "integers of constants": lambda x: tuple(
        t.full_like(x, number, dtype=of).to(dtype)
        for number in (float("nan"), float("inf"), -float("inf"), 1e30, -2.5)
        for of in (t.float32, t.float64, t.complex64)
        for dtype in (t.int64, t.uint8, t.uint64)
    ),
    "activations": lambda x: (F.gelu(x), F.silu(x), F.relu(x), F.softplus(x), x.tanh(), x.erf()),
    "norms": lambda x: (F.layer_norm(x, (9,)), F.layer_norm(x[5:], (4,)), x[5:].var()),
    "where": lambda x: (t.where(x.isnan(), 0, x), x.nan_to_num(), x.masked_fill(x > 0, -1)),
}


def bits(x):
    """Results as a list of tensors in which numbers that are none are alike."""
    leaves = x if isinstance(x, tuple) else (x,)
    for r in leaves:
        if not r.is_floating_point():
            yield r.dtype, r
            continue
        r = r.double()
        yield r.dtype, t.where(r.isnan(), 7.25, r), r.isnan(), r.signbit() & ~r.isnan()


@pytest.mark.parametrize("native", ["never", "wait"])
@pytest.mark.parametrize("name", VALUES)
def test_numbers_that_are_none_and_infinities(name, native):
    f = VALUES[name]
    compiled = compile(traced(f, EXTREMES), [EXTREMES], native=native)
    for a, b in zip(bits(compiled(EXTREMES)), bits(f(EXTREMES)), strict=True):
        assert a[0] == b[0] and all(t.equal(p, q) for p, q in zip(a[1:], b[1:], strict=True))


@pytest.mark.full
def test_more_elements_than_an_int_counts():
    def f(x):
        return (x + 1).sum(dtype=t.int64), (x * 2)[-3:] + 1, x.argmax()

    compiled = compile(traced(f, t.zeros(6, dtype=t.uint8)), [t.zeros(6, dtype=t.uint8)])
    x = t.zeros(2**31 + 5, dtype=t.uint8)
    x[-2] = 9
    total, end, at = compiled(x)
    assert total == x.numel() + 9 and end.tolist() == [1, 19, 1] and at == x.numel() - 2
    compiled.wait()
    total, end, at = compiled(x)
    assert total == x.numel() + 9 and end.tolist() == [1, 19, 1] and at == x.numel() - 2
