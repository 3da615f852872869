"""Graphs as modules, and whether two graphs are the same."""

from taeda.fx.graph_module import GraphModule, _assign_attr, _get_attr
from taeda.fx.passes.utils.matcher_utils import SubgraphMatcher
from taeda.nn import Module

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]


class HolderModule(Module):
    """Holds modules by name."""

    def __init__(self, d):
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


def lift_subgraph_as_module(gm, subgraph, comp_name="", class_name="GraphModule"):
    """(module, names): the graph as a module with what it names in `gm`.

    `names` leads from the paths in the new module to those in the old one.
    """
    holder, names = Module(), {}
    for node in subgraph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        _assign_attr(_get_attr(gm, node.target), holder, node.target)
        names[f"{comp_name}.{node.target}" if comp_name else node.target] = node.target
    return GraphModule(holder, subgraph, class_name), names


def compare_graphs(left, right):
    """Whether the graphs are the same but for names."""
    matcher = SubgraphMatcher(left, match_output=True, match_placeholder=True)
    return len(matcher.match(right)) > 0
