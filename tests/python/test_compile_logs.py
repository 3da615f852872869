"""What the compiler prints while it works, and what backends find at nodes."""

import importlib
import logging

import pytest
from under_test import NAME, t

set_logs = importlib.import_module(f"{NAME}._logging").set_logs

pytestmark = pytest.mark.skipif(NAME != "taeda", reason="about Taeda's own messages")


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    for name in ("TAEDA_LOGS", "TORCH_LOGS"):
        monkeypatch.delenv(name, raising=False)
    t.compiler.reset()
    yield
    monkeypatch.undo()
    monkeypatch.delenv("TAEDA_LOGS", raising=False)
    set_logs()


def program(x, n):
    y = x * n
    t._dynamo.graph_break()
    return y.relu()


def run_twice():
    fast = t.compile(program, backend="eager")
    fast(t.ones(3), 2)
    fast(t.ones(3), 5)


def stages(text):
    return {line[1:].partition("]")[0] for line in text.splitlines() if line.startswith("[")}


def test_nothing_is_printed_unasked(capsys):
    run_twice()
    assert capsys.readouterr().err == ""


def test_breaks_recompiles_and_guards(capsys):
    set_logs(graph_breaks=True, recompiles=True, guards=True, graph_code=True, graph=True)
    run_twice()
    text = capsys.readouterr().err
    assert stages(text) == {"graph_breaks", "recompiles", "guards", "graph_code", "graph"}
    line = program.__code__.co_firstlineno
    assert f"[graph_breaks] {__file__}:{line + 2}: " in text
    assert "\n    t._dynamo.graph_break()\n" in text
    assert f"{__file__}:{line}: program is compiled again, because of L['n'] == 5" in text
    assert "\n    L['n'] == 2\n" in text and "\n    L['x']: float32 tensor (3) on cpu\n" in text
    assert f"# File: {__file__}:{line + 1} in program, code: y = x * n" in text


@pytest.mark.parametrize("variable", ["TAEDA_LOGS", "TORCH_LOGS"])
def test_variables(variable, monkeypatch, capsys):
    monkeypatch.setenv(variable, "+dynamo,-guards")
    run_twice()
    assert stages(capsys.readouterr().err) == {"graph_breaks", "recompiles", "graph_code"}


def test_names_of_other_parts_in_pytorchs_variable_are_passed_over(monkeypatch, capsys):
    monkeypatch.setenv("TORCH_LOGS", "distributed,recompiles")
    run_twice()
    assert stages(capsys.readouterr().err) == {"recompiles"}


def test_calls_replace_one_another(capsys):
    set_logs(dynamo=logging.DEBUG)
    set_logs(recompiles=True, guards=False, graph_breaks=logging.ERROR)
    run_twice()
    assert stages(capsys.readouterr().err) == {"recompiles"}


def test_refusals(monkeypatch):
    with pytest.raises(
        ValueError, match="no stage 'recompile'; there are graph_breaks, recompiles"
    ):
        set_logs(recompile=True)
    with pytest.raises(ValueError, match="guards is True, False or a level of logging, not 'yes'"):
        set_logs(guards="yes")
    monkeypatch.setenv("TAEDA_LOGS", "recompiles")
    with pytest.warns(UserWarning, match="TAEDA_LOGS is set"):
        set_logs(guards=True)


def test_backends_find_lines_and_values():
    seen = {}

    def backend(gm, example_inputs):
        for node in gm.graph.nodes:
            seen[node.op] = node
        return gm

    t.compile(program, backend=backend)(t.ones(3), 2)
    node = seen["call_method"]
    lines = node.stack_trace.splitlines()
    assert lines[-1] == "    return y.relu()" and lines[-2].endswith("in program")
    assert node.meta["example_value"].shape == (3,)
    assert seen["placeholder"].meta["example_value"].shape == (3,)


def test_recompiles_are_told_with_what_the_program_is_at(capfd):
    epoch = iter(range(9))
    t._dynamo.register_hook_for_recompile_user_context(lambda: f"epoch {next(epoch)}" + "." * 300)
    set_logs(recompiles=True)
    fast = t.compile(lambda x, s: x * len(s), backend="eager")
    for text in ("a", "aa", "aaa"):
        fast(t.ones(3), text)
    t._dynamo.reset_recompile_user_contexts()
    fast(t.ones(3), "aaaa")
    told = capfd.readouterr().err
    assert told.count("is compiled again") == 3 and told.count("epoch") == 2
    assert "epoch 0" + "." * 249 + "\n" in told and "epoch 1" in told
    assert t._dynamo.utils.get_hook_for_recompile_user_context() is None
