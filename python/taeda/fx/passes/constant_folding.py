"""Constant folding: what does not depend on the arguments is computed once.

w = self.w; t = w.t(); return x @ t      →      t = self._FX_CONST_FOLDED_ATTRS; return x @ t
"""

import operator

import taeda
from taeda.fx._symbolic_trace import symbolic_trace
from taeda.fx.graph import Graph
from taeda.fx.graph_module import GraphModule
from taeda.nn import Parameter, ParameterList

__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]


class FoldedGraphModule(GraphModule):
    """A module whose constant part is computed at the first call, or by `run_folding()`."""

    def __init__(
        self,
        root,
        graph,
        const_subgraph=None,
        fx_const_folded_attrs_name=None,
        device_for_folded_attrs="cuda",
    ):
        super().__init__(root, graph)
        self.const_subgraph_module = (
            None if const_subgraph is None else GraphModule(root, const_subgraph)
        )
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args, **kwargs):
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self):
        """Computes the constants."""
        if self.const_subgraph_module is None or self.fx_const_folded_attrs_name is None:
            return
        if self.has_folding_been_run:
            raise AssertionError("folding has already been run")
        self.has_folding_been_run = True
        values = self.const_subgraph_module()

        def kept(value):
            if not isinstance(value, taeda.Tensor):
                return value
            return Parameter(value.detach(), requires_grad=value.requires_grad)

        if isinstance(values, tuple):
            folded = ParameterList([kept(value) for value in values])
        else:
            folded = kept(values)
        setattr(self, self.fx_const_folded_attrs_name, folded)


def get_unique_attr_name_in_module(mod_traced, name):
    """The name, with a number behind it if the module has something of that name."""
    number, candidate = 0, name
    while hasattr(mod_traced, candidate):
        number += 1
        candidate = f"{name}_{number}"
    return candidate


def _constant_nodes(graph, skip):
    found = {}
    for node in graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        is_constant = node.op == "get_attr" or (
            node.all_input_nodes and all(n in found for n in node.all_input_nodes)
        )
        if is_constant and not (skip is not None and skip(node)) and not node.is_impure():
            found[node] = None
    return found


def split_const_subgraphs(module, skip_folding_node_fn=None, device_for_folded_attrs="cpu"):
    """A FoldedGraphModule of the module.

    `skip_folding_node_fn(node)` says of a constant node that it shall stay.
    """
    traced = module if isinstance(module, GraphModule) else symbolic_trace(module)
    constants = _constant_nodes(traced.graph, skip_folding_node_fn)
    # What the rest of the program reads: the results to keep.
    results = [
        node
        for node in constants
        if node.op != "get_attr" and any(user not in constants for user in node.users)
    ]
    if not results:
        return FoldedGraphModule(traced, traced.graph)
    const_graph, copies = Graph(), {}
    for node in constants:
        copies[node] = const_graph.node_copy(node, copies.__getitem__)
    kept = tuple(copies[node] for node in results)
    const_graph.output(kept[0] if len(kept) == 1 else kept)
    const_graph.eliminate_dead_code(lambda node: node.op in ("placeholder", "output"))
    name = get_unique_attr_name_in_module(traced, "_FX_CONST_FOLDED_ATTRS")
    graph = _without(traced.graph, constants, results, name)
    # What is there until the constants are computed.
    setattr(traced, name, Parameter(taeda.empty(0)) if len(results) == 1 else ParameterList())
    folded = FoldedGraphModule(traced, graph, const_graph, name, device_for_folded_attrs)
    delattr(traced, name)
    return folded


def _without(graph, constants, results, name):
    """The program that reads the results instead of computing them."""
    new, copies = Graph(), {}
    for node in graph.nodes:
        if node.op == "placeholder":
            copies[node] = new.node_copy(node)
    folded = new.get_attr(name)
    for index, node in enumerate(results):
        if len(results) == 1:
            copies[node] = folded
        else:
            copies[node] = new.call_function(operator.getitem, (folded, index))
    for node in graph.nodes:
        needed = node not in constants or (
            node.op == "get_attr" and any(user not in constants for user in node.users)
        )
        if node not in copies and needed:
            copies[node] = new.node_copy(node, copies.__getitem__)
    new._codegen = graph._codegen
    return new
