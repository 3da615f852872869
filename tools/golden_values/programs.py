"""The programs of tests/python/compiled_corpus, compiled by PyTorch: graphs and breaks of each.

    {"basics.loop": {"graphs": 1, "breaks": 0},
     "scopes.warned": {"graphs": 0, "breaks": 1, "unlike": "a frame is not compiled"}}

`unlike` says why a program's counts are no measure: PyTorch's result is not plain Python's, or
PyTorch leaves a frame to the interpreter as a whole.
"""

import json
import os
import sys
import warnings

from golden_values.store import FOLDER

PATH = FOLDER / "programs.json"
CALLS = 3


def counted(program, dynamo, counters):
    """What PyTorch makes of a program in three calls."""
    from compiled_case import is_same, outcome
    from under_test import t

    # Called plainly, too, PyTorch compiles some of its functions.
    expected = outcome(program.function, program.args)
    dynamo.reset()
    counters.clear()
    compiled = t.compile(program.function, backend="eager")
    same = all(is_same(outcome(compiled, program.args), expected) for _ in range(CALLS))
    frames = counters["frames"]
    graphs = counters["stats"]["unique_graphs"]
    # A branch on data is in no counter of breaks, though another graph begins behind it.
    breaks = max(sum(counters["graph_break"].values()), graphs - 1)
    entry = {"graphs": graphs, "breaks": breaks}
    if not same:
        entry["unlike"] = "the result is not plain Python's"
    elif frames["total"] > frames["ok"]:
        entry["unlike"] = "a frame is not compiled"
    return entry


def main():
    os.environ["TAEDA_TEST_MODULE"] = "torch"
    sys.path.insert(0, str(FOLDER.parent / "python"))
    warnings.simplefilter("ignore")
    from compiled_corpus import load
    from torch import _dynamo as dynamo
    from torch._dynamo.utils import counters

    chosen = sys.argv[1:]
    entries = json.loads(PATH.read_text()) if chosen else {}
    for program in load(chosen or None):
        entries[program.name] = counted(program, dynamo, counters)
    lines = [f"{json.dumps(name)}: {json.dumps(entries[name])}" for name in sorted(entries)]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    unlike = sum("unlike" in entry for entry in entries.values())
    print(f"{len(entries)} programs, {unlike} of them no measure")


if __name__ == "__main__":
    main()
