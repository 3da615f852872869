"""Graphs and breaks of the corpus of programs, beside those of PyTorch that ./run golden recorded.

    compile_counts.py [part ...]

TAEDA_TEST_MODULE=torch runs PyTorch now. Programs that need more breaks or graphs than with PyTorch are listed with their causes.
"""

import importlib
import json
import sys
import time
import warnings
from pathlib import Path

from compiled_case import is_same, outcome
from compiled_corpus import load
from under_test import NAME, t

counters = importlib.import_module(f"{NAME}._dynamo.utils").counters
GOLDEN = Path(__file__).parents[1] / "golden/programs.json"


def counted(program):
    """What becomes of a program in three calls."""
    t.compiler.reset()
    expected = outcome(program.function, program.args)
    counters.clear()
    compiled = t.compile(program.function, backend="eager")
    same = all(is_same(outcome(compiled, program.args), expected) for _ in range(3))
    entry = {
        "graphs": counters["stats"]["unique_graphs"],
        "breaks": sum(counters["graph_break"].values()),
        "causes": list(counters["graph_break"]),
    }
    if not same:
        entry["unlike"] = "the result is not plain Python's"
    elif counters["given_up"]:
        entry["unlike"] = "a frame is not compiled"
    return entry


def note_what_is_not_compiled(entries, others):
    """A program without a graph, where the other compiler has one, is not compiled."""
    for name, entry in entries.items():
        if not entry["graphs"] and others.get(name, entry)["graphs"]:
            entry.setdefault("unlike", "no frame is compiled")


def row(title, entries):
    values = list(entries)
    unlike = [entry.get("unlike", "") for entry in values]
    return (
        f"{title:8} {len(values):8} {sum(not e['breaks'] and not e.get('unlike') for e in values):8}"
        f" {sum(e['breaks'] for e in values):7} {sum('result' in u for u in unlike):6}"
        f" {sum('frame' in u for u in unlike):12}"
    )


def main(parts):
    warnings.simplefilter("ignore")
    golden = json.loads(GOLDEN.read_text())
    programs = load(parts or None)
    begin = time.process_time()
    found = {program.name: counted(program) for program in programs}
    note_what_is_not_compiled(found, golden)
    for name, entry in found.items():
        other = golden.get(name, {"graphs": 0, "breaks": 0})
        is_measure = "unlike" not in other
        more = entry["breaks"] > other["breaks"] or entry["graphs"] > max(other["graphs"], 1)
        if "unlike" in entry or (is_measure and more):
            print(f"{name}: {entry}, PyTorch's {other}")
    note_what_is_not_compiled(golden, found)
    print(f"\n{time.process_time() - begin:.1f} seconds of processor time")
    print("         programs no break  breaks  wrong  not compiled")
    print(row(NAME, found.values()))
    print(row("PyTorch", (golden[name] for name in found if name in golden)))


if __name__ == "__main__":
    main(sys.argv[1:])
