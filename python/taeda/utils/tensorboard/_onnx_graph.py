"""The graph of a file of ONNX as TensorBoard draws it; the package onnx is not needed."""

from taeda.utils.tensorboard import _protobuf as proto
from taeda.utils.tensorboard._values import shape_message


def load_onnx_graph(fname):
    """The bytes of a GraphDef: inputs and results as variables, nodes by their first result."""
    with open(fname, "rb") as file:
        model = proto.fields(file.read())
    if 7 not in model:
        raise ValueError(f"[add_onnx_graph] {fname} has no graph: expected a file of ONNX")
    graph = proto.fields(model[7][0])
    nodes = [_variable(value) for value in (*graph.get(11, ()), *graph.get(12, ()))]
    nodes += [_node(node) for node in graph.get(1, ())]
    version = proto.data(4, proto.integer(1, 22))
    return b"".join(proto.data(1, node) for node in nodes) + version


def _attribute(name, value):
    """An entry of the map `attr`."""
    return proto.data(5, proto.text(1, name) + proto.data(2, value))


def _variable(value):
    fields = proto.fields(value)
    tensor = proto.fields(proto.fields(fields.get(2, [b""])[0]).get(1, [b""])[0])
    dims = proto.fields(tensor.get(2, [b""])[0]).get(1, ())
    sizes = [proto.fields(dim).get(1, [0])[0] for dim in dims]
    dtype = tensor.get(1, [0])[0]
    return b"".join(
        (
            proto.data(1, fields[1][0]),
            proto.text(2, "Variable"),
            _attribute("dtype", proto.integer(6, dtype)),
            _attribute("shape", proto.data(7, shape_message(sizes))),
        )
    )


def _node(node):
    fields = proto.fields(node)
    parameters = ", ".join(map(_parameter, fields.get(5, ())))
    return b"".join(
        (
            proto.data(1, fields[2][0]),
            proto.data(2, fields[4][0]),
            *(proto.data(3, name) for name in fields.get(1, ())),
            _attribute("parameters", proto.text(2, parameters)),
        )
    )


def _parameter(attribute):
    """`name = value` of numbers and texts; a tensor or a graph is named alone."""
    fields = proto.fields(attribute)
    name = fields[1][0].decode()
    for number in (2, 3):  # a float, an integer
        if number in fields:
            return f"{name} = {fields[number][0]}"
    if 4 in fields:
        return f"{name} = {fields[4][0].decode(errors='replace')}"
    if 8 in fields:
        return f"{name} = {proto.unpacked_integers(fields[8])}"
    return name
