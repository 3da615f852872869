"""The type stubs and the extension name the same things."""

import ast
import pathlib

import pytest
from under_test import NAME, t

pytestmark = pytest.mark.skipif(NAME != "taeda", reason="about Taeda's own stubs")

STUB = pathlib.Path(__file__).parents[2] / "python" / "taeda" / "_C.pyi"
# Aliases that annotations need, and groups that stand for submodules.
ONLY_IN_THE_STUB = {"Number", "DeviceLike", "_nn", "_special", "_linalg"}


def _names(body):
    """Functions, classes and annotated names of a module or class."""
    names = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            names.add(node.target.id)
    return names


@pytest.fixture(scope="module")
def module():
    return ast.parse(STUB.read_text()).body


@pytest.fixture(scope="module")
def tensor_names(module):
    (tensor,) = [n for n in module if isinstance(n, ast.ClassDef) and n.name == "Tensor"]
    return _names(tensor.body)


def test_what_the_stub_names_exists(module, tensor_names):
    aliases = {n for n in _names(module) if n.startswith("_") and not hasattr(t._C, n)}
    assert aliases == {
        "_bool", "_complex", "_device", "_dtype", "_float", "_int", "_layout", "_memory_format"
    }  # fmt: skip
    missing = [n for n in _names(module) - aliases - ONLY_IN_THE_STUB if not hasattr(t._C, n)]
    assert missing == []
    assert [n for n in tensor_names if not hasattr(t.Tensor, n)] == []


def test_what_exists_is_in_the_stub(module, tensor_names):
    public = {n for n in vars(t._C) if not n.startswith("_")}
    assert sorted(public - _names(module)) == []
    # Methods that the package adds in Python have their annotations there.
    written_in_c = {n for n, value in vars(t.Tensor).items() if not hasattr(value, "__code__")}
    public = {n for n in written_in_c if not n.startswith("_")}
    assert sorted(public - tensor_names) == []


def test_overloads(module):
    sums = [n for n in module if isinstance(n, ast.FunctionDef) and n.name == "sum"]
    assert len(sums) == 2
    assert all(n.decorator_list[0].id == "overload" for n in sums)
