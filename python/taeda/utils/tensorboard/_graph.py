"""A model's graph as TensorBoard draws it: a GraphDef of the exported program."""

import taeda
from taeda.utils.tensorboard import _protobuf as proto
from taeda.utils.tensorboard._values import shape_message


def _scope(node):
    """The path of the module that a node comes from."""
    stack = node.meta.get("nn_module_stack") or {}
    path = [entry[0] for entry in stack.values()][-1] if stack else ""
    return path.removeprefix("L['self'].").replace(".", "/")


def _operator(node):
    if node.op == "call_function":
        return str(node.target)
    return {"placeholder": "Input", "output": "Output", "get_attr": "Constant"}.get(
        node.op, node.op
    )


def _shapes(node):
    """The attribute `_output_shapes`."""
    value = node.meta.get("val")
    values = value if isinstance(value, (tuple, list)) else [value]
    tensors = [v for v in values if isinstance(v, taeda.Tensor)]
    if not tensors:
        return b""
    shapes = b"".join(proto.data(7, shape_message(map(int, v.shape))) for v in tensors)
    return proto.data(5, proto.text(1, "_output_shapes") + proto.data(2, proto.data(1, shapes)))


def graph_def(model, input_to_model):
    """The bytes of a GraphDef; nodes are named by the modules they come from."""
    inputs = input_to_model if isinstance(input_to_model, tuple) else (input_to_model,)
    exported = taeda.export.export(model, inputs)
    names, nodes = {}, []
    for node in exported.graph.nodes:
        scope = _scope(node)
        names[node] = f"{scope}/{node.name}" if scope else node.name
        fields = [proto.text(1, names[node]), proto.text(2, _operator(node))]
        fields += [proto.text(3, names[source]) for source in node.all_input_nodes]
        nodes.append(proto.data(1, b"".join(fields) + _shapes(node)))
    return b"".join(nodes) + proto.data(4, proto.integer(1, 22))  # the version of the format
