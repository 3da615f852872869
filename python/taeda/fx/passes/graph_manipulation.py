"""Replacing targets, and how many bytes nodes hold."""

from collections import namedtuple

import taeda
from taeda.fx.graph import Graph
from taeda.fx.node import map_aggregate, map_arg
from taeda.fx.passes.shape_prop import ShapeProp, TensorMetadata

__all__ = [
    "get_size_of_all_nodes",
    "get_size_of_node",
    "get_tensor_meta",
    "replace_target_nodes_with",
    "size_bytes",
]

size_bytes = namedtuple("size_bytes", ["output_size", "total_size"])


def replace_target_nodes_with(fx_module, old_op, old_target, new_op, new_target):
    """Makes every node with the old kind and target one with the new."""
    graph, copies = Graph(), {}
    for node in fx_module.graph.nodes:
        if node.op == old_op and node.target == old_target:
            copies[node] = graph.create_node(
                new_op,
                new_target,
                map_arg(node.args, copies.__getitem__),
                map_arg(node.kwargs, copies.__getitem__),
                node.name,
            )
        else:
            copies[node] = graph.node_copy(node, copies.__getitem__)
    fx_module.graph = graph


def get_tensor_meta(node):
    """What ShapeProp noted."""
    described = node.meta.get("tensor_meta")
    if not described:
        raise RuntimeError(
            f"Node {node} has no tensor metadata associated with it! Check that shape propagation "
            "has run."
        )
    return described


def get_size_of_all_nodes(fx_module, args=None):
    """Sets `size_bytes` of every node; with example arguments runs ShapeProp first."""
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        if node.op == "output":
            break
        node.size_bytes = get_size_of_node(fx_module, node)


def _bytes(described):
    total = 0

    def add(leaf):
        nonlocal total
        total += leaf.numel() * leaf.element_size() if isinstance(leaf, taeda.Tensor) else 0

    if isinstance(described, TensorMetadata):
        numel = 1
        for size in described.shape:
            numel *= size
        return numel * taeda.empty((), dtype=described.dtype).element_size()
    map_aggregate(described, add)
    return total


def get_size_of_node(fx_module, node):
    """Bytes of the result, and of result and parameters together."""
    total = 0
    if node.op == "call_module":
        module = fx_module.get_submodule(node.target)
        total = sum(_bytes(p) for p in module.parameters())
    output = _bytes(get_tensor_meta(node))
    return size_bytes(output, total + output)
