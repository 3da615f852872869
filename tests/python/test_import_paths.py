"""PyTorch's private import paths only re-export; what they give lives under a public name."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from under_test import NAME, t

pytestmark = pytest.mark.skipif(NAME != "taeda", reason="about where Taeda's code lies")

PACKAGE = Path(t.__file__).parent
PATHS = (
    "_decomp",
    "_dispatch",
    "_dynamo",
    "_export",
    "_functorch",
    "_guards.py",
    "_higher_order_ops",
    "_library",
    "_logging",
    "_prims.py",
    "_prims_common.py",
    "_subclasses",
    "_utils.py",
    "fx/experimental",
    "optim/_functional.py",
    "testing/_internal",
    "utils/_dtype_abbrs.py",
    "utils/_foreach_utils.py",
)
FILES = sorted(
    file
    for path in PATHS
    for file in ([PACKAGE / path] if path.endswith(".py") else (PACKAGE / path).rglob("*.py"))
)


def _module_name(file):
    parts = file.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(("taeda", *(p for p in parts if p != "__init__")))


def _is_re_export(statement):
    if isinstance(statement, ast.Assign):
        return [target.id for target in statement.targets] == ["__all__"]
    # Names that only an operator's table knows.
    if isinstance(statement, ast.FunctionDef):
        return statement.name == "__getattr__"
    return isinstance(statement, ast.ImportFrom) and statement.module.partition(".")[0] == "taeda"


@pytest.mark.parametrize("file", FILES, ids=_module_name)
def test_a_private_path_holds_no_code(file):
    first, *rest = ast.parse(file.read_text()).body
    assert isinstance(first, ast.Expr) and isinstance(first.value.value, str)
    assert [ast.unparse(s) for s in rest if not _is_re_export(s)] == []


@pytest.mark.parametrize("file", FILES, ids=_module_name)
def test_a_private_path_gives_what_it_names(file):
    module = importlib.import_module(_module_name(file))
    assert [name for name in getattr(module, "__all__", ()) if not hasattr(module, name)] == []


def test_a_module_does_not_hide_a_function_of_its_name():
    code = (
        "from taeda._higher_order_ops.scan import scan_op\n"
        "import taeda._higher_order_ops as ops, taeda.fx.control_flow as home\n"
        "assert ops.scan is home.scan and ops.cond is home.cond and callable(ops.scan)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_package_loads_none_of_it():
    code = "import sys, taeda; print(*(m for m in sys.modules if m.startswith('taeda.')))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    homes = {"taeda.func", "taeda.fx", "taeda.library", "taeda.nn", "taeda.testing", "taeda.utils"}
    assert "taeda.autograd" in loaded
    assert not loaded & {*homes, *(_module_name(file) for file in FILES)}


def test_code_names_functions_of_symbolic_numbers_as_pytorch_does():
    from taeda.fx.experimental.symbolic_shapes import sym_and

    graph = t.fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(sym_and, (x, x)))
    expected = "sym_and = taeda.fx.experimental.symbolic_shapes.sym_and(x, x)"
    assert expected in graph.python_code("self").src
