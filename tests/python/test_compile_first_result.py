"""Compilers start when the first results of a compiled program are there."""

import time

import pytest
from test_inductor_tools import run_program, script_compiler

import taeda as t


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    """A path that is there once a compiler was asked to compile."""
    started = tmp_path / "started"
    monkeypatch.setenv("TAEDA_CXX", script_compiler(tmp_path, f': >{started}; exec c++ "$@"'))
    monkeypatch.setenv("TAEDA_CACHE_DIR", "")
    t.compiler.reset()
    t.compiler.wait()
    started.unlink(missing_ok=True)
    yield started
    t.compiler.wait()


@pytest.fixture
def look(compiler):
    """An operator that takes its time, whether a compiler ran in it, by call, and first steps."""
    seen = []
    begun = []

    @t.library.custom_op(f"first_result::{compiler.parent.name}", mutates_args=())
    def op(x: t.Tensor) -> t.Tensor:
        begun.append(time.monotonic())
        time.sleep(0.3)
        seen.append(compiler.exists())
        return x.clone()

    op.register_fake(t.empty_like)
    op.register_autograd(lambda ctx, grad: op(grad))

    def first(step):
        """What was seen in a first step; one that a busy machine lets begin late is made again."""
        for number in range(8):
            t.compiler.reset()
            t.compiler.wait()
            compiler.unlink(missing_ok=True)
            seen.clear()
            begun.clear()
            start = time.monotonic()
            step(op, 1.8125 + number)
            last = [start, *(at + 0.3 for at in begun[:-1])]
            if all(at - before < 0.4 for at, before in zip(begun, last, strict=True)):
                return list(seen)
        pytest.skip("the machine is too busy for a run to begin when it is made")

    return op, seen, first


@pytest.mark.slow
def test_no_compiler_runs_beside_a_first_run(look, compiler):
    def step(op, number):
        t.compile(lambda x: op((x + number).exp()).sin(), fullgraph=True)(t.randn(5))

    assert look[2](step) == [False]
    t.compiler.wait()
    assert compiler.exists()


@pytest.mark.slow
def test_no_compiler_runs_beside_the_first_backward(look, compiler):
    def step(op, number):
        f = t.compile(lambda x: op((x * number).exp()).sin(), fullgraph=True)
        f(t.randn(5, requires_grad=True)).sum().backward()

    assert look[2](step) == [False, False]
    t.compiler.wait()
    assert compiler.exists()


WARM = """
import time
import taeda as t
from taeda._inductor import compile
from taeda.fx.experimental.proxy_tensor import make_fx

def f(x):
    return (x * 1.40625).exp().sum()

x = t.randn(6, 10, requires_grad=True)
gm = make_fx(f, tracing_mode="symbolic", pre_dispatch=True)(x)
compiled = compile(gm, [x])
end = time.monotonic() + SECONDS
while t._C._inductor.cache_uses()[0] < 2 and time.monotonic() < end:
    time.sleep(0.01)
time.sleep(0.5)  # what was found is loaded
compiled(x).backward()
print([r["native"] for r in compiled.report()], t.equal(x.grad, (x * 1.40625).exp() * 1.40625))
t.compiler.wait()
"""


def test_kernels_of_an_earlier_process_serve_the_first_run(tmp_path):
    cache = {"TAEDA_CACHE_DIR": str(tmp_path / "cache")}
    cold = run_program(WARM.replace("SECONDS", "0"), **cache)
    assert cold.stdout == "[0, 0] True\n", cold.stderr
    warm = run_program(WARM.replace("SECONDS", "30"), **cache)
    assert warm.stdout == "[1, 1] True\n", warm.stderr


def test_a_forward_alone_is_compiled_soon(look, compiler):
    op, seen, _ = look
    f = t.compile(lambda x: op((x * 1.6875).exp()).sin(), fullgraph=True)
    x = t.randn(5, requires_grad=True)
    f(x)
    end = time.monotonic() + 30
    while not compiler.exists() and time.monotonic() < end:
        time.sleep(0.01)
    assert compiler.exists()
