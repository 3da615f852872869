"""Exported programs in their forms: in files and back, lowered, compared."""

import io

import taeda
from taeda.export import load, save


def saved(program, **kwargs):
    """The bytes of the program's file."""
    file = io.BytesIO()
    save(program, file, **kwargs)
    return file.getvalue()


def reloaded(program):
    """The program from its file."""
    return load(io.BytesIO(saved(program)))


def same(a, b):
    """Asserts that two results are equal in structure and values."""
    flat_a, spec_a = taeda.utils._pytree.tree_flatten(a)
    flat_b, spec_b = taeda.utils._pytree.tree_flatten(b)
    assert spec_a == spec_b
    for x, y in zip(flat_a, flat_b, strict=True):
        assert taeda.equal(x, y) if isinstance(x, taeda.Tensor) else x == y


def written_nodes(program):
    """Names of the nodes that write to a tensor."""
    return [
        n.name for n in program.graph.nodes if n.op == "call_function" and "_." in str(n.target)
    ]
