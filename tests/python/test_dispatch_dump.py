"""What the dispatcher says of an operator: its schema, and the kernel of each key."""

import gc

import pytest

import taeda as t


def kernel_of(operator, key):
    (line,) = [x for x in t._dispatch.dump(operator).splitlines() if x.startswith(f"  {key}: ")]
    return line.split(": ", 1)[1]


def test_a_name_without_overload_shows_its_overloads():
    text = t._dispatch.dump("add")
    assert "schema: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor" in text
    assert kernel_of("add.Tensor", "AutogradCPU") == "generated from the operator's record"


def test_a_kernel_comes_with_its_library_and_goes():
    before = kernel_of("mm", "CPU")
    library = t.library.Library("aten", "IMPL")
    library.impl("mm", lambda a, b: a, "CPU")
    assert "test_dispatch_dump.py" in kernel_of("mm", "CPU")
    del library
    gc.collect()
    assert kernel_of("mm", "CPU") == before


def test_an_unknown_operator():
    with pytest.raises(RuntimeError, match="Could not find schema for nonsense"):
        t._dispatch.dump("nonsense")
