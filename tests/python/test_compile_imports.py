"""What the first compile of a plain function imports, and what captures know of functions then."""

import json
import os
import subprocess
import sys

import pytest
from under_test import NAME, t

pytestmark = pytest.mark.skipif(NAME != "taeda", reason="about Taeda's own modules")

PROGRAM = """
import json, sys
import taeda

def f(x):
    {body}

x = taeda.ones(4, 4)
f(x)
before = set(sys.modules)
taeda.compile(f)(x)
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def imported_by(body, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(body=body)],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "TAEDA_CACHE_DIR": str(tmp_path),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "body",
    [
        "return (x + 1).relu()",
        "return taeda.relu(x @ x).sum()",
        "return max(len(x.shape), 1) * x.view(-1)[1:3]",
    ],
)
def test_few_modules(body, tmp_path):
    """Each costs a part of a millisecond; a module of these takes twenty others with it."""
    found = imported_by(body, tmp_path)
    heavy = {"ast", "dataclasses", "inspect", "logging", "pickle", "re", "tempfile", "typing"}
    packages = {"taeda.nn", "taeda._ops", "taeda.fx.graph", "taeda.fx.node", "taeda.library"}
    assert not (heavy | packages | {"subprocess", "traceback"}) & set(found)
    assert len(found) <= 45, found


def test_tables_tell_captures_the_same():
    """The module that a function says it is of leads to its table."""
    from taeda.compiler import _known_calls

    assert t.nn.functional.relu is not None  # imports it
    names = [name for name in list(sys.modules) if _known_calls.table_of(name)]
    assert {"builtins", "taeda", "taeda._C", "taeda.nn.functional"} <= set(names)
    wrong = []
    for name in names:
        for function, kind in _known_calls.table_of(name).items():
            found = t._C._dynamo.known_call(function)
            if found != kind and function not in _known_calls._noted:
                wrong.append((name, function, kind, found))
    assert not wrong


def test_substitutes_are_found():
    from taeda.utils.checkpoint import checkpoint

    for function in (t.manual_seed, t.tensor, t.cond, checkpoint, object.__reduce_ex__):
        assert t._C._dynamo.has_substitute(function)
    assert not t._C._dynamo.has_substitute(t.relu)


def test_functions_are_known_under_pytorchs_names(tmp_path):
    """`taeda run` shows the package as torch, its functions say so, too."""
    script = tmp_path / "program.py"
    script.write_text(
        "import torch\n"
        "import torch.nn.functional as F\n"
        "f = lambda x: F.relu(x.view(-1).to(torch.float64)).expand(2, -1).sum()\n"
        "print(torch.compile(f, fullgraph=True, backend='eager')(torch.ones(2, 3)).item())\n"
    )
    command = [sys.executable, "-m", "taeda.run", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("12.0\n", 0), done.stderr
