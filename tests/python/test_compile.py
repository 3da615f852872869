"""taeda.compile: programs give compiled what they give plainly."""

import importlib
import os

import pytest
from compiled_case import CASES, is_same, outcome
from under_test import NAME, t

for part in ("basics", "objects", "scopes"):
    importlib.import_module(f"compiled_corpus.{part}")
counters = importlib.import_module(f"{NAME}.compiler._counters").counters
dynamo = importlib.import_module(f"{NAME}._dynamo")

OPTIONS = {"eager": {}, "inductor": {"options": {"native": "never"}}}


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    monkeypatch.setenv("TAEDA_COMPILE_STRICT", os.environ.get("TAEDA_COMPILE_STRICT", "1"))


@pytest.mark.parametrize("backend", OPTIONS)
@pytest.mark.parametrize("program", CASES, ids=lambda program: program.name)
def test_programs_give_what_they_give_plainly(program, backend):
    counters.clear()
    expected = outcome(program.function, program.args)
    compiled = t.compile(program.function, backend=backend, **OPTIONS[backend])
    for _ in range(3):
        assert is_same(outcome(compiled, program.args), expected)
    assert sum(counters["graph_break"].values()) <= program.breaks, dict(counters["graph_break"])
    assert counters["stats"]["unique_graphs"] <= program.compiles
