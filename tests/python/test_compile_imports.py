"""What the first compile of a plain function imports, and what captures know of functions then."""

import importlib
import json
import os
import subprocess
import sys
import types

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


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package whose function imports of it, and what its modules wrote when they were loaded."""
    (tmp_path / "parts" / "deep").mkdir(parents=True)
    (tmp_path / "parts" / "__init__.py").write_text(
        "loaded = []\n"
        "def imports(x):\n"
        "    from .first import one\n"
        "    from . import second\n"
        "    from .deep import third\n"
        "    from .deep.third import three\n"
        "    return one(x) + second.two(x) + third.three(x) * three(x)\n"
        "def loads(x):\n"
        "    loaded.append('begin')\n"
        "    from parts import second\n"
        "    loaded.append('end')\n"
        "    return second.two(x)\n"
    )
    (tmp_path / "parts" / "first.py").write_text("def one(x):\n    return x + 1\n")
    (tmp_path / "parts" / "second.py").write_text(
        "from parts import loaded\nloaded.append('second')\ndef two(x):\n    return x * 2\n"
    )
    (tmp_path / "parts" / "deep" / "__init__.py").write_text("")
    (tmp_path / "parts" / "deep" / "third.py").write_text(
        "def three(x):\n    return x - 3\n"
        "def up(x):\n    from ..first import one\n    return one(x)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("parts")
    for name in [name for name in sys.modules if name.partition(".")[0] == "parts"]:
        del sys.modules[name]


def test_relative_imports_are_captured(package):
    for module in ("first", "second", "deep.third"):
        importlib.import_module(f"parts.{module}")
    x = t.ones(2)
    for function in (package.imports, sys.modules["parts.deep.third"].up):
        compiled = t.compile(function, backend="eager", fullgraph=True)
        assert compiled(x).equal(function(x))


def test_modules_are_loaded_in_their_order(package):
    x = t.ones(2)
    compiled = t.compile(package.loads, backend="eager")
    for loaded in (["begin", "second", "end"], ["begin", "end"]):
        package.loaded.clear()
        assert compiled(x).equal(x * 2)
        assert package.loaded == loaded


def test_other_modules_of_the_name_are_noticed(monkeypatch):
    def program(x):
        import changing
        from changing import factor

        return x * changing.factor + factor

    def refused(x):
        try:
            import changing
        except ImportError:
            return x
        return x + changing.factor

    compiled = [t.compile(one, backend="eager") for one in (program, refused)]
    x = t.ones(2)
    for factor in (2, 3):
        monkeypatch.setitem(sys.modules, "changing", types.ModuleType("changing"))
        sys.modules["changing"].factor = factor
        assert compiled[0](x).tolist() == [2 * factor] * 2
        assert compiled[1](x).tolist() == [1 + factor] * 2
    monkeypatch.setitem(sys.modules, "changing", None)
    assert compiled[1](x) is x
    with pytest.raises(ImportError, match="changing"):
        compiled[0](x)


def test_values_that_a_module_makes_at_each_look():
    module = types.ModuleType("made_up")

    def make(name):
        if name == "sizes":
            return [module.first, 2]
        raise AttributeError(name)

    module.first = 1
    module.__getattr__ = make
    compiled = t.compile(lambda x: x + module.sizes[0], backend="eager", fullgraph=True)
    for module.first in (1, 5, 6):
        assert t.equal(compiled(t.ones(2)), t.ones(2) + module.first)


def test_a_program_may_ask_whether_it_is_traced():
    fx = importlib.import_module(f"{NAME}.fx")

    def program(x):
        return x + 1 if fx._symbolic_trace.is_fx_tracing() else x * 2

    compiled = t.compile(program, backend="eager", fullgraph=True)
    assert t.equal(compiled(t.ones(2)), t.full((2,), 2.0))
    assert fx._symbolic_trace.is_fx_tracing() is False
