"""Exported programs in files; the form is C++'s (`taeda/export/exported_program.h`)."""

import json
import os

import taeda
from taeda import _C
from taeda.export._module_calls import ModuleCallEntry, ModuleCallSignature
from taeda.export._module_inputs import has_modules, read_spec, written_spec
from taeda.export._names import argument_names
from taeda.export._notes import decoded_calls, encoded_calls, encoded_origins, set_origins
from taeda.export.exported_program import ExportedProgram, verifier_of
from taeda.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    SymIntArgument,
    TensorArgument,
    symbolic_sizes,
)
from taeda.fx.control_flow._regions import with_regions, with_submodules
from taeda.fx.symbolic.inputs import ValueRanges, int_oo
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
    parts = archive_parts(ep, extra_files)
    if isinstance(f, (str, os.PathLike)):
        _C._export.save(os.fspath(f), *parts)
    else:
        f.write(_C._export.save(None, *parts))


def archive_parts(ep, extra_files=None):
    """The program as C++ takes it: graph, signature, tensors, examples, notes, extra files."""
    examples, notes = _notes(ep)
    extra = {
        name: text if isinstance(text, bytes) else text.encode()
        for name, text in (extra_files or {}).items()
    }
    graph = with_regions(ep.graph_module)
    return graph, ep._encoded_signature(), ep._all_tensors(), examples, notes, extra


def load(f, *, extra_files=None, expected_opset_version=None):
    """Reads a program from a path or a binary file.

    extra_files: a dict whose values are replaced by the texts of the file.
    """
    is_path = isinstance(f, (str, os.PathLike))
    source = os.fspath(f) if is_path else f.read()
    if is_path:
        open(source, "rb").close()  # raises Python's error for a file that cannot be opened
    graph, signature, state, examples, notes, extra = _C._export.load(source)
    if extra_files is not None:
        for name in extra_files:
            extra_files[name] = extra[name].decode() if name in extra else extra_files[name]
    try:
        return _program(graph, signature, state, examples, notes)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise RuntimeError(f"cannot read the notes of the program: {error!r}") from error


def _notes(ep):
    """The tensors of the example, and the data that C++ keeps for Python."""
    spec = ep.call_spec
    notes = {
        "in_spec": written_spec(spec.in_spec),
        "out_spec": pytree.treespec_dumps(spec.out_spec),
        "forward_arg_names": json.dumps(ep._forward_names),
        "module_calls": encoded_calls(ep.module_call_graph[1:]),
        "origins": encoded_origins(ep.graph),
    }
    if ep.example_inputs is None or has_modules(spec.in_spec):
        # A file holds no code, so it cannot hold a module that is an example.
        return [], notes
    leaves = pytree.tree_leaves(ep.example_inputs)
    tensors = [leaf for leaf in leaves if isinstance(leaf, taeda.Tensor)]
    users = [s for s in ep.graph_signature.input_specs if s.kind is InputKind.USER_INPUT]
    numbers = [v for s, v in zip(users, leaves, strict=True) if isinstance(s.arg, SymIntArgument)]
    notes["numbers"] = json.dumps(numbers)
    return [t.detach() for t in tensors], notes


def _program(graph, encoded, state, examples, notes):
    signature = ExportGraphSignature._decoded(encoded)
    call = ModuleCallSignature(
        inputs=[],
        outputs=[],
        in_spec=read_spec(notes["in_spec"]),
        out_spec=pytree.treespec_loads(notes["out_spec"]),
        forward_arg_names=json.loads(notes["forward_arg_names"]),
    )
    argument_names(call.in_spec, call.forward_arg_names)
    # Files of version 1 have neither.
    calls = decoded_calls(notes["module_calls"]) if "module_calls" in notes else []
    if "origins" in notes:
        set_origins(graph, notes["origins"])
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
        [ModuleCallEntry("", call), *calls],
        _examples(signature, call.in_spec, examples, json.loads(notes.get("numbers", "[]"))),
        {name: t for name, t in state.items() if name not in kept},
        verifiers=[verifier_of(encoded["dialect"])],
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
    """{expression: range} of the sizes of the graph's inputs and their symbols."""
    sizes = symbolic_sizes(graph)
    known = {str(s): s for size in sizes for s in size.node.expr.free_symbols}
    known |= {str(size): size.node.expr for size in sizes}
    ranges = {
        known[r["symbol"]]: ValueRanges(r["low"], r.get("high", int_oo))
        for r in encoded
        if r["symbol"] in known
    }
    for size in sizes:
        expr = size.node.expr
        ranges.setdefault(expr, size.node.shape_env.bound_sympy(expr))
    return ranges


def _examples(signature, in_spec, tensors, numbers):
    """(args, kwargs) put together from the saved values and the constants of the signature."""
    if not tensors and not numbers:
        return None
    saved = {TensorArgument: iter(tensors), SymIntArgument: iter(numbers)}
    leaves = [
        s.arg.value if isinstance(s.arg, ConstantArgument) else next(saved[type(s.arg)])
        for s in signature.input_specs
        if s.kind is InputKind.USER_INPUT
    ]
    return pytree.tree_unflatten(leaves, in_spec)
