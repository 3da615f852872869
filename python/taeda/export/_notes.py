"""What a program's file keeps for Python beside graph, signature and tensors, as JSON.

Calls of submodules, and for each node the modules and the lines of code it comes from. Texts and
stacks that repeat are written once.
"""

import json

import taeda
from taeda.export._module_calls import ModuleCallEntry, ModuleCallSignature
from taeda.export._module_inputs import read_spec, written_spec
from taeda.export.graph_signature import ConstantArgument, SymIntArgument, TensorArgument
from taeda.utils import _pytree as pytree

_ARGUMENTS = {"tensor": TensorArgument, "sym_int": SymIntArgument}
_KEPT = ("nn_module_stack", "stack_trace")


def encoded_calls(entries):
    """The calls of submodules as text."""
    return json.dumps([[e.fqn, e.signature and _encoded_signature(e.signature)] for e in entries])


def decoded_calls(text):
    return [
        ModuleCallEntry(fqn, signature and _decoded_signature(signature))
        for fqn, signature in json.loads(text)
    ]


def _encoded_signature(signature):
    return {
        "inputs": [_encoded_argument(a) for a in signature.inputs],
        "outputs": [_encoded_argument(a) for a in signature.outputs],
        "in_spec": written_spec(signature.in_spec),
        "out_spec": pytree.treespec_dumps(signature.out_spec),
        "forward_arg_names": signature.forward_arg_names,
    }


def _decoded_signature(encoded):
    return ModuleCallSignature(
        inputs=[_decoded_argument(a) for a in encoded["inputs"]],
        outputs=[_decoded_argument(a) for a in encoded["outputs"]],
        in_spec=read_spec(encoded["in_spec"]),
        out_spec=pytree.treespec_loads(encoded["out_spec"]),
        forward_arg_names=encoded["forward_arg_names"],
    )


def _encoded_argument(argument):
    for kind, cls in _ARGUMENTS.items():
        if isinstance(argument, cls):
            return [kind, argument.name]
    value = argument.value
    if isinstance(value, taeda.dtype):
        return ["dtype", str(value).partition(".")[2]]
    if isinstance(value, taeda.device):
        return ["device", str(value)]
    if isinstance(value, complex):
        return ["complex", [value.real, value.imag]]
    return ["constant", value]


def _decoded_argument(encoded):
    kind, value = encoded
    if kind in _ARGUMENTS:
        return _ARGUMENTS[kind](value)
    if kind == "dtype":
        value = getattr(taeda, value)
    elif kind == "device":
        value = taeda.device(value)
    elif kind == "complex":
        value = complex(*value)
    return ConstantArgument("", value)


def encoded_origins(graph):
    """Where the nodes come from, as text."""
    found = {}
    for key in _KEPT:
        values, nodes = {}, {}
        for node in graph.nodes:
            if key in node.meta:
                value = json.dumps(node.meta[key])
                nodes[node.name] = values.setdefault(value, len(values))
        found[key] = {"values": [json.loads(v) for v in values], "nodes": nodes}
    return json.dumps(found)


def set_origins(graph, text):
    """Gives the nodes of a graph the origins that `encoded_origins` has written."""
    by_name = {node.name: node for node in graph.nodes}
    found = json.loads(text)
    for key in _KEPT:
        values = found[key]["values"]
        if key == "nn_module_stack":
            values = [{k: (path, cls) for k, (path, cls) in stack.items()} for stack in values]
        for name, index in found[key]["nodes"].items():
            if name in by_name:
                by_name[name].meta[key] = values[index]
