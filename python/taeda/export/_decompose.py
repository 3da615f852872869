"""Retraces an exported program without writes, with operators decomposed."""

import dataclasses

import taeda
from taeda._C import _fx
from taeda.export._errors import UserError
from taeda.export._trace import output_specs
from taeda.export.decomp_utils import CompositeBody, CustomDecompTable
from taeda.export.graph_signature import (
    ConstantArgument,
    InputKind,
    OutputKind,
    symbolic_sizes,
)
from taeda.fx._module_stack import fill_module_stacks
from taeda.fx.control_flow._regions import with_regions, with_submodules
from taeda.fx.fake.tensors import FakeTensorMode
from taeda.fx.symbolic.shape_env import ShapeEnv
from taeda.fx.traceback import NodeSource, NodeSourceAction


def default_decompositions():
    """A new table: composite operators, and those outside the core set.

    An operator that is taken out of it stays whole.
    """
    return CustomDecompTable()


def decomposed(program, table):
    """(graph, modules it calls, signature) with the operators of `table` decomposed."""
    closed = with_regions(program.graph_module)
    inputs, options = _inputs(program), _options(program, table)
    graph, constants, written, _, _ = _fx.retrace(closed, inputs, options)
    if constants:
        raise UserError("a decomposition made a tensor of fixed values; pass it as an argument")
    graph.eliminate_dead_code()
    root = with_submodules(graph)
    for old, new in zip(
        program.graph.find_nodes(op="placeholder"), graph.find_nodes(op="placeholder"), strict=True
    ):
        new.meta.update(old.meta)
    fill_module_stacks(graph)
    input_specs, results = program.graph_signature.input_specs, program.graph_signature.output_specs
    kinds = [_mutation(input_specs[i]) for i in written]
    kinds += [(spec.kind, spec.target) for spec in results]
    specs = output_specs(kinds, graph.output_node().args[0])
    return graph, root, dataclasses.replace(program.graph_signature, output_specs=specs)


def _shape_env(program):
    """Where the symbols of the program's inputs are from; a new one if there are none."""
    sizes = symbolic_sizes(program.graph)
    return sizes[0].node.shape_env if sizes else ShapeEnv()


def _options(program, table):
    functions = {op: f for op, f in table.items() if not isinstance(f, CompositeBody)}
    # The constant is an input by now; what is left of the operator is that it copies.
    functions.setdefault(taeda.ops.aten.lift_fresh_copy.default, taeda.clone)
    fake_mode = FakeTensorMode(
        allow_non_fake_inputs=True, shape_env=_shape_env(program), static_shapes=True, export=True
    )
    return {
        "functionalizes": True,
        "is_before_autograd": True,
        "writes_asserts": True,
        "fake_mode": fake_mode,
        "decompositions": functions,
        "opened": [op for op, body in table.items() if isinstance(body, CompositeBody)],
        "on_node": _note,
    }


def _inputs(program):
    """Examples of all placeholders, and constants themselves."""
    nodes = program.graph.find_nodes(op="placeholder")
    specs = program.graph_signature.input_specs
    return [
        spec.arg.value if isinstance(spec.arg, ConstantArgument) else node.meta.get("val")
        for node, spec in zip(nodes, specs, strict=True)
    ]


def _note(made, source):
    """New nodes know the node that they come from."""
    if source is not None:
        made.meta["from_node"] = [NodeSource(source, "run_decompositions", NodeSourceAction.CREATE)]


def _mutation(spec):
    if spec.kind is InputKind.BUFFER:
        return OutputKind.BUFFER_MUTATION, spec.target
    if spec.kind is InputKind.PARAMETER:
        return OutputKind.PARAMETER_MUTATION, spec.target
    if spec.kind is InputKind.USER_INPUT:
        return OutputKind.USER_INPUT_MUTATION, spec.arg.name
    raise UserError(
        f"Constant {spec.target} is mutated in the forward method. Pls register it as buffer"
    )
