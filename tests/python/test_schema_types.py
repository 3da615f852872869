"""Types in schemas: what they are made of and what they take."""

import pytest
from taeda._schema_types import type_of_text

import taeda

C = taeda._C


@pytest.mark.parametrize(
    "text", ["Tensor", "Optional[List[int]]", "List[Optional[Tensor]]", "number", "Generator"]
)
def test_a_type_is_its_text(text):
    assert type_of_text(text) == text and str(type_of_text(text)) == text


def test_kinds_and_elements():
    sizes = type_of_text("Optional[List[int]]")
    assert sizes.kind() == "OptionalType"
    assert sizes.getElementType() == "List[int]" and sizes.containedTypes() == ["List[int]"]
    assert isinstance(sizes.getElementType(), C.ListType)
    assert C.TensorType.get().containedTypes() == []


@pytest.mark.parametrize(
    ("given", "asked", "is_taken"),
    [
        ("Device", "Optional[Device]", True),
        ("Optional[Device]", "Optional[Device]", True),
        ("NoneType", "Optional[Device]", True),
        ("Optional[Device]", "Device", False),
        ("int", "number", True),
        ("bool", "number", False),
        ("int", "Optional[number]", True),
        ("List[int]", "List[number]", False),
    ],
)
def test_what_a_type_takes(given, asked, is_taken):
    assert type_of_text(given).isSubtypeOf(type_of_text(asked)) is is_taken


def test_types_of_arguments():
    schema = taeda.ops.aten.add.Tensor._schema
    kinds = [a.type.kind() for a in [*schema.arguments, *schema.returns]]
    assert kinds == ["TensorType", "TensorType", "NumberType", "TensorType"]


def test_all_schemas():
    schemas = {(s.name, s.overload_name): s for s in C._jit_get_all_schemas()}
    assert len(schemas) == len(C._dispatch.list_operators())
    assert schemas["aten::add", "Tensor"] is taeda.ops.aten.add.Tensor._schema
    with taeda.library._scoped_library("schema_types", "DEF") as library:
        library.define("double(Tensor x) -> Tensor")
        assert "schema_types::double" in {s.name for s in C._jit_get_all_schemas()}
