"""Compilers start when the first results of a compiled program are there."""

import time

import pytest
from test_inductor_tools import script_compiler

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
    """An operator that takes its time, and whether a compiler ran in it, by call."""
    seen = []

    @t.library.custom_op(f"first_result::{compiler.parent.name}", mutates_args=())
    def op(x: t.Tensor) -> t.Tensor:
        time.sleep(0.3)
        seen.append(compiler.exists())
        return x.clone()

    op.register_fake(t.empty_like)
    op.register_autograd(lambda ctx, grad: op(grad))
    return op, seen


def test_no_compiler_runs_beside_a_first_run(look, compiler):
    op, seen = look
    f = t.compile(lambda x: op((x + 1.8125).exp()).sin(), fullgraph=True)
    x = t.randn(5)
    f(x)
    assert seen == [False]
    t.compiler.wait()
    assert compiler.exists()


def test_no_compiler_runs_beside_the_first_backward(look, compiler):
    op, seen = look
    f = t.compile(lambda x: op((x * 1.9375).exp()).sin(), fullgraph=True)
    x = t.randn(5, requires_grad=True)
    f(x).sum().backward()
    assert seen == [False, False]
    t.compiler.wait()
    assert compiler.exists()


def test_a_forward_alone_is_compiled_soon(look, compiler):
    op, seen = look
    f = t.compile(lambda x: op((x * 1.6875).exp()).sin(), fullgraph=True)
    x = t.randn(5, requires_grad=True)
    f(x)
    end = time.monotonic() + 30
    while not compiler.exists() and time.monotonic() < end:
        time.sleep(0.01)
    assert compiler.exists()
