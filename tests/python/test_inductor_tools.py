"""How plans are compiled, checked, waited for and shown."""

import os
import stat
import subprocess
import sys
import textwrap

import pytest
from taeda._inductor import compile
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda as t
import taeda.nn.functional as F

X = t.randn(6, 10)


def traced(f, *inputs):
    return make_fx(f, tracing_mode="symbolic", pre_dispatch=True)(*inputs)


def run_program(text, **variables):
    """Runs a program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-W", "always", "-c", textwrap.dedent(text)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )


def script_compiler(folder, text):
    """A compiler that is a shell script; the source is the last argument."""
    path = folder / "compiler.sh"
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exec c++ --version\n{text}\n')
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return str(path)


PROGRAM = """
import taeda as t
from taeda._inductor import compile
from taeda.fx.experimental.proxy_tensor import make_fx
x = t.randn(6, 10)
def f(x):
    return (x * 1.625).tanh()
gm = make_fx(f, tracing_mode="symbolic")(x)
"""


# ---- native kernels ----
def test_only_native_kernels():
    compiled = compile(traced(lambda x: (x * 3).exp(), X), [X], native="only")
    assert compiled.report()[0]["native"] == 1
    assert t.equal(compiled(X), (X * 3).exp())


def test_a_plan_of_native_kernels_does_not_interpret():
    compiled = compile(traced(lambda x: (x * 3).exp(), X), [X], native="never")
    compiled._plan.set_native_only()
    with pytest.raises(RuntimeError, match="native kernels only"):
        compiled(X)
    compiled.compile_native()
    assert t.equal(compiled(X), (X * 3).exp())


def test_both_forms_are_compared():
    def f(x):
        return F.softmax(x, -1) @ x.t(), x.argmax(1)

    compiled = compile(traced(f, X), [X], native="wait", check=True)
    for x in (X, t.randn(40, 10)):
        assert all(t.equal(a, b) for a, b in zip(f(x), compiled(x), strict=True))


def test_a_wrong_native_kernel_is_found(tmp_path, monkeypatch):
    # 1.375 and 2.75 as bits: the compiler doubles a number of the program.
    text = 'for last; do :; done; sed -i s/0x3fb00000u/0x40300000u/ "$last"; exec c++ "$@"'
    monkeypatch.setenv("TAEDA_CXX", script_compiler(tmp_path, text))

    def f(x):
        return t.full_like(x, 1.375) + x

    compiled = compile(traced(f, X), [X], native="wait", check=True)
    with pytest.raises(RuntimeError, match="native and interpreted kernels differ"):
        compiled(X)
    assert not t.equal(compiled.check(False)(X), f(X))


def test_waiting_for_everything():
    compiled = [
        compile(traced(lambda x, n=n: (x * n).sin(), X), [X]) for n in (1.0625, 1.1875, 1.3125)
    ]
    t.compiler.wait()
    assert [c.report()[0]["native"] for c in compiled] == [1, 1, 1]
    t.compiler.reset()
    t.compiler.wait()


def test_strict_programs_have_native_kernels_or_fail():
    program = PROGRAM + "\ncompiled = compile(gm, [x])\nt.compiler.wait()\n"
    variables = {"TAEDA_CXX": "/nonexistent/compiler", "TAEDA_CACHE_DIR": ""}
    relaxed = run_program(program, **variables)
    assert relaxed.returncode == 0 and "stay interpreted" in relaxed.stderr
    strict = run_program(program, **variables, TAEDA_COMPILE_STRICT="1")
    assert "RuntimeError: [compile_native] the C++ compiler was not found" in strict.stderr


# ---- the cache ----
@pytest.mark.slow
def test_the_cache_from_the_command_line(tmp_path):
    def cache(*action):
        command = [sys.executable, "-m", "taeda", "compile-cache", *action]
        variables = {**os.environ, "TAEDA_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
        return done.stdout

    assert cache().startswith("0 entries")
    program = PROGRAM + '\ncompile(gm, [x], native="wait")\n'
    assert run_program(program, TAEDA_CACHE_DIR=str(tmp_path / "cache")).returncode == 0
    listed = cache("list").splitlines()
    assert len(listed) == 2 and "KiB" in listed[0] and listed[1].startswith("1 entries")
    assert cache("size").splitlines() == listed[1:]
    assert cache("clear") == "1 entries removed\n"
    assert cache("size").startswith("0 entries")


def test_the_cache_switched_off():
    command = [sys.executable, "-m", "taeda", "compile-cache"]
    variables = {**os.environ, "TAEDA_CACHE_DIR": ""}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    assert done.stdout == "the cache is switched off\n"


# ---- seeing ----
def training():
    def loss(x, w, v):
        return F.mse_loss(F.gelu(x @ w) @ v, x)

    inputs = [X, t.randn(10, 32, requires_grad=True), t.randn(32, 10, requires_grad=True)]
    return traced(loss, *inputs), inputs


def test_logs_print_the_stages(monkeypatch, capsys):
    monkeypatch.setenv("TAEDA_LOGS", "fusion, aot,memory,timing")
    compile(*training(), native="never")
    text = capsys.readouterr().err
    stages = [line for line in text.splitlines() if line.startswith("[")]
    parts = ["forward", "backward"]
    expected = ["[aot]", *(f"[fusion] {p}" for p in parts), *(f"[memory] {p}" for p in parts)]
    assert stages == [*expected, "[timing]"]
    assert "saved mm: 768 bytes, not computed twice" in text
    assert "call mm gives mm" in text and "gelu = gelu" in text
    assert "arena of" in text and "|" in text.split("[memory] backward")[1]
    assert "trace" in text and "write" in text


def test_logs_print_kernels(monkeypatch, capsys):
    monkeypatch.setenv("TAEDA_LOGS", "code")
    compile(traced(lambda x: (x * 2).sin(), X), [X], native="never")
    text = capsys.readouterr().err
    assert "// sin = sin" in text and "kernel0_0(char* const*" in text


def test_logs_and_page_of_many_plans(monkeypatch, capsys, tmp_path):
    def f(x):
        return ((x * 2).nonzero() + 1, (x + 3).nonzero() * 2)

    monkeypatch.setenv("TAEDA_LOGS", "fusion")
    compiled = compile(traced(f, X), [X], native="never")
    count = len(compiled.report())
    assert count > 2
    stages = [s for s in capsys.readouterr().err.splitlines() if s.startswith("[")]
    assert stages == [f"[fusion] plan {i}" for i in range(count)]
    compiled.html(tmp_path / "page.html")
    assert f"<h2>Plan {count - 1}</h2>" in (tmp_path / "page.html").read_text()


def test_logs_of_no_stage_are_an_error(monkeypatch):
    monkeypatch.setenv("TAEDA_LOGS", "aot,fussion")
    with pytest.raises(ValueError, match=r"no stage 'fussion'; there are .*aot, fusion, code"):
        compile(traced(lambda x: x * 2, X), [X], native="never")
    monkeypatch.setenv("TAEDA_LOGS", "")
    compile(traced(lambda x: x * 2, X), [X], native="never")


def test_reports():
    def f(x):
        return ((x * 2).sin() @ x.t()).cumsum(0), x.sort()[0], x.kthvalue(1)[0]

    compiled = compile(traced(f, X), [X], native="never").time()
    compiled(X)
    (report,) = compiled.report()
    assert sorted(report["library_calls"]) == ["mm", "sort"]
    assert report["fallbacks"] == ["kthvalue"]
    kernel = next(step for step in report["steps"] if step["kind"] == "kernel")
    assert kernel["nodes"] == ["mul = mul.Tensor", "sin = sin"]
    assert (kernel["bytes_read"], kernel["bytes_written"]) == (240, 240)
    assert kernel["bytes_saved"] == 480  # what mul would have written and sin read
    assert all(step["seconds"] > 0 for step in report["steps"])
    assert report["bytes_moved"] >= 480 and report["arena_bytes"] >= 240
    assert set(report["seconds"]) == {"trace", "lower", "units", "fuse", "write"}
    compiled(t.randn(12, 10))
    assert compiled.report()[0]["arena_bytes"] >= 480


def test_a_scan_that_is_a_result_is_reported():
    def f(x):
        return (x + 1).cumsum(0)

    (report,) = compile(traced(f, X), [X], native="never").report()
    (kernel,) = report["steps"]
    assert kernel["nodes"] == ["add = add.Tensor", "cumsum = cumsum"]
    assert kernel["bytes_saved"] == 480  # what add would have written and cumsum read


def test_lines_of_the_program():
    gm = traced(lambda x: (x * 2).sin(), X)
    for node in gm.graph.nodes:
        if node.op == "call_function":
            node.meta["stack_trace"] = '  File "model.py", line 7, in forward\n    y = sin(x * 2)\n'
    source = compile(gm, [X], native="never").source()
    assert '// File "model.py", line 7, in forward: y = sin(x * 2)' in source


def test_captured_kernels_name_lines(monkeypatch, capsys):
    """Of the program as it stands in its file, for the backward too."""
    monkeypatch.setenv("TAEDA_LOGS", "code")

    def f(x):
        h = (x * 2).sin()
        return (h * h).exp().sum()

    first = f.__code__.co_firstlineno
    x = t.randn(5, requires_grad=True)
    t.compile(f, options={"native": "never"})(x).backward()
    forward, _, backward = capsys.readouterr().err.partition("[code] backward")
    for text in (forward, backward):
        for line in (first + 1, first + 2):
            assert f'// File "{__file__}", line {line}, in f' in text


def test_the_page(tmp_path):
    gm, inputs = training()
    compiled = compile(gm, inputs, native="never").time()
    compiled(*inputs).backward()
    compiled.html(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert text.count("<svg") == 2
    for part in ("Partition", "Forward", "Backward", "saved mm", "kernel0_0", "<rect", "gelu"):
        assert part in text
    assert "http" not in text.replace("http://www.w3.org", "")


def test_a_backend_has_graphs_of_both_kinds_compiled():
    from taeda._inductor import metrics
    from taeda._inductor.compile_fx import compile_fx

    def f(x):
        return t.relu(x + 1) * 2

    x = t.randn(5, requires_grad=True)
    metrics.reset()
    captured = t.compile(f, backend=compile_fx)
    operators = compile_fx(make_fx(f, pre_dispatch=True)(x), [x])
    for compiled in (captured, operators):
        assert t.equal(compiled(x), f(x))
        (grad,) = t.autograd.grad(compiled(x).sum(), x)
        assert t.equal(grad, t.autograd.grad(f(x).sum(), x)[0])
    assert metrics.generated_kernel_count == 4
    metrics.reset()
    assert metrics.generated_kernel_count == 0
    with pytest.raises(AttributeError, match="no attribute 'num_bytes'"):
        metrics.num_bytes  # noqa: B018


def test_kernels_of_programs_that_are_gone_count():
    from taeda._inductor import metrics

    x = t.randn(5, requires_grad=True)
    metrics.reset()
    t.compile(lambda x: x.sin() + 1)(X)
    assert metrics.generated_kernel_count == 1
    t.compile(lambda x: (x.cos() * 2).sum())(x).backward()
    assert metrics.generated_kernel_count == 3
    metrics.reset()
    assert metrics.generated_kernel_count == 0


def test_results_are_plain_containers():
    x = t.arange(3.0)
    result = compile(make_fx(lambda v: {"a": [v + 1], "b": (v * 2, None)})(x), [x])(x)
    assert (type(result), type(result["a"]), type(result["b"])) == (dict, list, tuple)
    result["c"] = 1


class Scaled(t.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = t.nn.Linear(3, 2)

    def forward(self, x, *, by):
        return {"y": self.linear(x) * by["k"], "rows": [x + 1]}


@pytest.mark.parametrize("check_guards", [True, False])
def test_modules_of_exported_programs(check_guards):
    batch = t.export.Dim("batch")
    module, x, by = Scaled(), t.randn(4, 3), {"k": t.randn(4, 2)}
    shapes = {"x": {0: batch}, "by": {"k": {0: batch}}}
    program = t.export.export(module, (x,), {"by": by}, dynamic_shapes=shapes)
    compiled = compile(program.module(check_guards=check_guards), [x, by["k"]])
    for rows in (4, 7):
        x, by = t.randn(rows, 3), {"k": t.randn(rows, 2)}
        result, want = compiled(x, by=by), module(x, by=by)
        assert t.allclose(result["y"], want["y"])
        assert t.equal(result["rows"][0], want["rows"][0])
    with pytest.raises(ValueError, match="keyword mismatch"):
        compiled(x)
    if check_guards:
        with pytest.raises(AssertionError, match="Guard failed"):
            compiled(x, by={"k": t.randn(6, 2)})


def test_the_cut_of_a_program_with_a_compiler_of_its_own_is_printed(capsys, monkeypatch):
    monkeypatch.setenv("TAEDA_LOGS", "aot")
    from taeda.fx.aot import aot_function

    x = t.ones(3, requires_grad=True)
    aot_function(lambda x: (x + 1).relu().sum(), compile)(x).backward()
    text = capsys.readouterr().err
    assert text.count("[aot]") == 3  # of both parts and of the whole
    assert "saved" in text
