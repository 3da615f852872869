"""Retraces an exported program with operators replaced by what other functions call."""

import dataclasses

import taeda
from taeda._subclasses.fake_tensor import FakeTensorMode
from taeda.export._errors import UserError
from taeda.export._functional_graph import remove_writes
from taeda.export._trace import output_specs
from taeda.export.graph_signature import ConstantArgument
from taeda.fx.experimental.proxy_tensor import ProxyTorchDispatchMode
from taeda.fx.graph import Graph


def decomposed(program, table):
    """(graph, what it calls, signature) with the operators of `table` decomposed."""
    graph = Graph()
    tracer = ProxyTorchDispatchMode(graph, "fake")
    tracer.set_decompositions(table)
    fake_mode = FakeTensorMode(allow_non_fake_inputs=True, export=True)
    inputs = _inputs(program, graph, tracer, fake_mode)
    with fake_mode, tracer:
        results = program.graph_module(*inputs)
    args = tuple(tracer.arg_tree(list(results)))
    if tracer.constants:
        raise UserError("a decomposition made a tensor of fixed values; pass it as an argument")
    output = graph.create_node("output", "output", (args,))
    remove_writes(graph, tracer.root)
    old = program.graph_signature
    kinds = [(spec.kind, spec.target) for spec in old.output_specs]
    signature = dataclasses.replace(old, output_specs=output_specs(kinds, output.args[0]))
    return graph, tracer.root, signature


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
