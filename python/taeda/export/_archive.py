"""Exported programs in files; the form is C++'s (`taeda/export/exported_program.h`)."""

import json
import os

import taeda
from taeda import _C
from taeda.export._regions import with_regions, with_submodules
from taeda.export.exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from taeda.export.graph_signature import ConstantArgument, ExportGraphSignature, InputKind
from taeda.fx.experimental.symbolic_shapes import ValueRanges
from taeda.utils import _pytree as pytree


def save(ep, f, *, extra_files=None, opset_version=None, pickle_protocol=2):
    """Writes a program to a path or a binary file; the file is complete or not there.

    extra_files: {name: text} that `load` gives back.
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(
            "The 'ep' parameter must be an instance of 'ExportedProgram', got "
            f"'{type(ep).__name__}' instead."
        )
    examples, notes = _notes(ep)
    extra = {
        name: text if isinstance(text, bytes) else text.encode()
        for name, text in (extra_files or {}).items()
    }
    graph = with_regions(ep.graph_module)
    parts = (graph, ep._encoded_signature(), ep._all_tensors(), examples, notes, extra)
    if isinstance(f, (str, os.PathLike)):
        _C._export.save(os.fspath(f), *parts)
    else:
        f.write(_C._export.save(None, *parts))


def load(f, *, extra_files=None, expected_opset_version=None):
    """Reads a program from a path or a binary file.

    extra_files: a dict whose values are replaced by the texts of the file.
    """
    source = os.fspath(f) if isinstance(f, (str, os.PathLike)) else f.read()
    graph, signature, state, examples, notes, extra = _C._export.load(source)
    if extra_files is not None:
        for name in extra_files:
            extra_files[name] = extra[name].decode() if name in extra else extra_files[name]
    return _program(graph, signature, state, examples, notes)


def _notes(ep):
    """The tensors of the example, and what C++ keeps for Python."""
    spec = ep.call_spec
    notes = {
        "in_spec": pytree.treespec_dumps(spec.in_spec),
        "out_spec": pytree.treespec_dumps(spec.out_spec),
        "forward_arg_names": json.dumps(ep._forward_names),
    }
    if ep.example_inputs is None:
        return [], notes
    leaves = pytree.tree_leaves(ep.example_inputs)
    tensors = [leaf for leaf in leaves if isinstance(leaf, taeda.Tensor)]
    return [t.detach() for t in tensors], notes


def _program(graph, encoded, state, examples, notes):
    signature = ExportGraphSignature._decoded(encoded)
    call = ModuleCallSignature(
        inputs=[],
        outputs=[],
        in_spec=pytree.treespec_loads(notes["in_spec"]),
        out_spec=pytree.treespec_loads(notes["out_spec"]),
        forward_arg_names=json.loads(notes["forward_arg_names"]),
    )
    kept = set(signature.parameters) | (
        set(signature.buffers) - set(signature.non_persistent_buffers)
    )
    _make_parameters(state, signature.parameters)
    return ExportedProgram(
        with_submodules(graph),
        graph,
        signature,
        {name: t for name, t in state.items() if name in kept},
        _ranges(graph, encoded["ranges"]),
        [ModuleCallEntry("", call)],
        _examples(signature, call.in_spec, examples),
        {name: t for name, t in state.items() if name not in kept},
    )


def _make_parameters(state, names):
    """Turns tensors into parameters; those that are the same memory become one."""
    made = {}
    for name in names:
        t = state[name]
        place = (t.data_ptr(), t.size(), t.stride(), t.dtype) if t.numel() else name
        if place not in made:
            made[place] = taeda.nn.Parameter(t.detach(), t.requires_grad)
        state[name] = made[place]


def _ranges(graph, encoded):
    """{symbol: range} of the symbols in the sizes of the graph's inputs."""
    sizes = [
        size
        for node in graph.find_nodes(op="placeholder")
        for size in getattr(node.meta.get("val"), "shape", ())
        if isinstance(size, taeda.SymInt)
    ]
    symbols = {str(s): s for size in sizes for s in size.node.expr.free_symbols}
    return {
        symbols[r["symbol"]]: ValueRanges(r["low"], r.get("high", float("inf")))
        for r in encoded
        if r["symbol"] in symbols
    }


def _examples(signature, in_spec, tensors):
    """(args, kwargs) put together from the saved tensors and the constants of the signature."""
    if not tensors:
        return None
    remaining = iter(tensors)
    leaves = [
        s.arg.value if isinstance(s.arg, ConstantArgument) else next(remaining)
        for s in signature.input_specs
        if s.kind is InputKind.USER_INPUT
    ]
    return pytree.tree_unflatten(leaves, in_spec)
