"""taeda.compile: programs give compiled what they give plainly, in no more graphs than PyTorch's."""

import importlib
import json
import os
from pathlib import Path

import pytest
from compiled_case import is_same, outcome
from compiled_corpus import load
from under_test import NAME, t

counters = importlib.import_module(f"{NAME}._dynamo.utils").counters
dynamo = importlib.import_module(f"{NAME}._dynamo")

CASES = load()
GOLDEN = json.loads((Path(__file__).parents[1] / "golden/programs.json").read_text())
OPTIONS = {"eager": {}, "inductor": {"options": {"native": "never"}}}


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    monkeypatch.setenv("TAEDA_COMPILE_STRICT", os.environ.get("TAEDA_COMPILE_STRICT", "1"))


def limits(program):
    """The breaks and graphs that a program may have: PyTorch's, or what the program says."""
    golden = GOLDEN.get(program.name)
    if golden is None:
        return program.breaks, program.compiles
    if "unlike" in golden:
        return float("inf"), float("inf")
    more = program.more_breaks
    # Without a graph PyTorch found nothing to compile, or nothing it could.
    return golden["breaks"] + more, max(golden["graphs"], 1) + more


def is_compiled_by_pytorch(program):
    golden = GOLDEN.get(program.name, {"graphs": 0})
    return golden["graphs"] > 0 and "unlike" not in golden


@pytest.mark.sampled(3)
@pytest.mark.parametrize("backend", OPTIONS)
@pytest.mark.parametrize("program", CASES, ids=lambda program: program.name)
def test_programs_give_what_they_give_plainly(program, backend):
    expected = outcome(program.function, program.args)
    counters.clear()
    compiled = t.compile(program.function, backend=backend, **OPTIONS[backend])
    is_rounded = backend == "inductor" and program.is_fused
    for _ in range(3):
        assert is_same(outcome(compiled, program.args), expected, is_rounded)
    breaks, graphs = limits(program)
    assert sum(counters["graph_break"].values()) <= breaks, dict(counters["graph_break"])
    assert counters["stats"]["unique_graphs"] <= graphs
    if is_compiled_by_pytorch(program) and not program.more_breaks:
        assert counters["stats"]["unique_graphs"] > 0, "nothing was compiled"


def test_the_programs_are_those_that_pytorch_compiled():
    assert {program.name for program in CASES} == set(GOLDEN), "./run golden programs"
    assert len(CASES) >= 400
