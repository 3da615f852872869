"""Passes for inference: layers fused with the batch normalization behind them, no dropout."""

import copy

import taeda.nn as nn
from taeda.fx._symbolic_trace import symbolic_trace
from taeda.fx.graph import Graph
from taeda.fx.graph_module import GraphModule
from taeda.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

__all__ = [
    "extract_subgraph",
    "fuse",
    "matches_module_pattern",
    "remove_dropout",
    "replace_node_module",
]


def _known_fusions():
    """(class, class, function) for the layers that taeda.nn has."""
    pairs = [(f"Conv{n}d", f"BatchNorm{n}d", fuse_conv_bn_eval) for n in (1, 2, 3)] + [
        ("Linear", "BatchNorm1d", fuse_linear_bn_eval)
    ]
    return [
        (getattr(nn, first), getattr(nn, second), function)
        for first, second, function in pairs
        if hasattr(nn, first) and hasattr(nn, second)
    ]


# Which module followed by which becomes one, and how; more may be added.
FUSIONS = _known_fusions()


def matches_module_pattern(pattern, node, modules):
    """Whether a node calls a module of pattern[1] on the result of one of pattern[0]."""
    if not node.args or not hasattr(node.args[0], "op"):
        return False
    return all(
        n.op == "call_module" and type(modules.get(n.target)) is expected
        for expected, n in zip(pattern, (node.args[0], node))
    )


def replace_node_module(node, modules, new_module):
    """Puts another module where a node's target is."""
    parent, _, name = node.target.rpartition(".")
    modules[node.target] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model, inplace=False, no_trace=False):
    """The model with batch normalizations folded into the layers before them; for evaluation."""
    if not inplace:
        model = copy.deepcopy(model)
    traced = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    modules = dict(traced.named_modules())
    for first, second, fused in FUSIONS:
        for node in traced.graph.nodes:
            if not matches_module_pattern((first, second), node, modules):
                continue
            layer = node.args[0]
            # Somebody else needs the result as it is.
            if len(layer.users) > 1:
                continue
            norm = modules[node.target]
            if not norm.track_running_stats:
                continue
            replace_node_module(layer, modules, fused(modules[layer.target], norm))
            node.replace_all_uses_with(layer)
            traced.graph.erase_node(node)
    return GraphModule(traced, traced.graph)


def remove_dropout(model):
    """The model without its Dropout modules."""
    traced = symbolic_trace(model)
    modules = dict(traced.named_modules())
    for node in traced.graph.nodes:
        if node.op == "call_module" and isinstance(modules[node.target], nn.Dropout):
            node.replace_all_uses_with(node.args[0])
            traced.graph.erase_node(node)
    return GraphModule(traced, traced.graph)


def extract_subgraph(orig_module, nodes, inputs, outputs):
    """A module that computes `outputs` from `inputs` by these nodes."""
    graph, copies = Graph(), {}
    for node in inputs:
        copies[node] = graph.placeholder(node.name)
    for node in nodes:
        copies[node] = graph.node_copy(node, copies.__getitem__)
    graph.output([copies[node] for node in outputs])
    graph.lint()
    return GraphModule(orig_module, graph)
