"""Retraces an exported program without writes, with operators decomposed."""

import dataclasses

import taeda
from taeda import _C
from taeda.export._errors import UserError
from taeda.export._functional_graph import remove_writes
from taeda.export._trace import output_specs
from taeda.export.decomp_utils import CompositeBody, CustomDecompTable
from taeda.export.graph_signature import ConstantArgument, InputKind, OutputKind
from taeda.fx._module_stack import fill_module_stacks
from taeda.fx.fake.tensors import FakeTensorMode
from taeda.fx.graph import Graph
from taeda.fx.interpreter import Interpreter
from taeda.fx.operator_trace import ProxyTorchDispatchMode
from taeda.fx.symbolic.shape_env import ShapeEnv
from taeda.fx.traceback import NodeSource, NodeSourceAction


def default_decompositions():
    """A new table: composite operators, and those outside the core set.

    An operator that is taken out of it stays whole.
    """
    return CustomDecompTable()


def decomposed(program, table):
    """(graph, modules it calls, signature) with the operators of `table` decomposed."""
    graph = Graph()
    tracer = _tracer(graph, table)
    fake_mode = FakeTensorMode(
        allow_non_fake_inputs=True, shape_env=_shape_env(program), static_shapes=True, export=True
    )
    tracer.write_asserts_of(fake_mode.shape_env)
    inputs = _inputs(program, graph, tracer, fake_mode)
    with fake_mode, tracer:
        kinds, args = _functional_run(program, tracer, inputs)
    tracer.write_asserts()
    if tracer.constants:
        raise UserError("a decomposition made a tensor of fixed values; pass it as an argument")
    output = graph.create_node("output", "output", (tuple(args),))
    output.meta.update(_kept_meta(program.graph.output_node()))
    remove_writes(graph, tracer.root)
    fill_module_stacks(graph)
    specs = output_specs(kinds, output.args[0])
    return graph, tracer.root, dataclasses.replace(program.graph_signature, output_specs=specs)


def _shape_env(program):
    """Where the symbols of the program's inputs are from; a new one if there are none."""
    for node in program.graph.find_nodes(op="placeholder"):
        value = node.meta.get("val")
        for size in getattr(value, "shape", (value,)):
            if isinstance(size, taeda.SymInt):
                return size.node.shape_env
    return ShapeEnv()


def _tracer(graph, table):
    tracer = ProxyTorchDispatchMode(graph, "fake", pre_dispatch=True)
    # Grad modes mean nothing to a graph without writes, and casts are part of it.
    tracer.records_modes = False
    tracer.below_autocast = True
    opened = [op for op, body in table.items() if isinstance(body, CompositeBody)]
    functions = {op: f for op, f in table.items() if not isinstance(f, CompositeBody)}
    # The constant is an input by now; what is left of the operator is that it copies.
    functions.setdefault(taeda.ops.aten.lift_fresh_copy.default, taeda.clone)
    tracer.use_table(functions, opened)
    return tracer


def _inputs(program, graph, tracer, fake_mode):
    """Fake values for all placeholders, each standing for a new one of the same name."""
    inputs = []
    old = program.graph.find_nodes(op="placeholder")
    for node, spec in zip(old, program.graph_signature.input_specs, strict=True):
        new = graph.create_node("placeholder", node.target, name=node.name)
        new.meta.update(node.meta)
        value = node.meta.get("val")
        if isinstance(spec.arg, ConstantArgument):
            value = spec.arg.value
        elif isinstance(value, taeda.Tensor):
            with fake_mode:
                value = taeda.empty_strided(
                    value.size(), value.stride(), dtype=value.dtype, device=value.device
                )
        if not isinstance(spec.arg, ConstantArgument):
            tracer.track(value, new)
        inputs.append(value)
    return inputs


def _functional_run(program, tracer, inputs):
    """((kind, target), graph argument) of all results, as two lists; what is written comes first.

    Placeholders stand for functional tensors while the program runs.
    """
    level = _C._enter_functionalize(False, True)
    try:
        own = [_C._make_functional(v, level) if isinstance(v, taeda.Tensor) else v for v in inputs]
        results = _Retrace(program, tracer).run(*own)
        kinds, args = [], []
        for spec, value in zip(program.graph_signature.input_specs, own, strict=True):
            if isinstance(value, taeda.Tensor) and _C._functional_value(value, level)[1]:
                kinds.append(_mutation(spec))
                args.append(_argument(tracer, value, level))
        for spec, value in zip(program.graph_signature.output_specs, results, strict=True):
            kinds.append((spec.kind, spec.target))
            args.append(_argument(tracer, value, level))
    finally:
        _C._exit_functionalize(level)
    return kinds, args


def _argument(tracer, value, level):
    if isinstance(value, taeda.Tensor):
        value = _C._functional_value(value, level)[0]
    return tracer.arg_tree(value)


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


# Metadata that a node takes over from the one it comes from.
_KEPT = ("nn_module_stack", "stack_trace", "custom")


def _kept_meta(node):
    return {key: node.meta[key] for key in _KEPT if key in node.meta}


class _Retrace(Interpreter):
    """Runs a program; new nodes know the node that they come from."""

    def __init__(self, program, tracer):
        super().__init__(program.graph_module)
        self._now = None
        tracer.set_node_callback(self._note)

    def run_node(self, n):
        self._now = n
        return super().run_node(n)

    def _note(self, node):
        node.meta.update(_kept_meta(self._now))
        source = NodeSource(self._now, "run_decompositions", NodeSourceAction.CREATE)
        node.meta["from_node"] = [source]
