"""replace_pattern: wherever a graph looks like one function, makes it look like another."""

import copy
from collections import namedtuple
from dataclasses import dataclass, field

from taeda.fx._symbolic_trace import symbolic_trace
from taeda.fx.graph import Graph
from taeda.fx.graph_module import GraphModule, _assign_attr
from taeda.fx.node import Node
from taeda.fx.passes.utils.matcher_utils import SubgraphMatcher
from taeda.nn import Module

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]

# The node that the search began at, and which node of the graph each node of the pattern was.
Match = namedtuple("Match", ["anchor", "nodes_map"])


@dataclass
class ReplacedPatterns:
    """A place that was rewritten, with the nodes that were put there."""

    anchor: Node
    nodes_map: dict
    replacements: list = field(default_factory=list)


def replace_pattern(gm, pattern, replacement):
    """Rewrites all places that do not overlap; returns a Match for each.

    Pattern and replacement are functions or graph modules with the same number of arguments and of
    results. An argument of the pattern stands for any value; a value that it computes on the way
    must not be used elsewhere.
    """
    replaced = replace_pattern_with_filters(gm, pattern, replacement)
    return [Match(anchor=r.anchor, nodes_map=r.nodes_map) for r in replaced]


def replace_pattern_with_filters(
    gm,
    pattern,
    replacement=None,
    match_filters=None,
    ignore_literals=False,
    replacement_callback=None,
    node_name_match="",
):
    """replace_pattern where each filter `f(match, original_graph, pattern_graph)` agrees.

    `replacement_callback(match, original_graph, pattern_graph)` makes the replacement for a place.
    """
    pattern_graph = _graph_of(pattern)
    if all(n.op in ("placeholder", "output") for n in pattern_graph.nodes):
        raise AssertionError("the pattern has no step that could be found and replaced")
    matcher = SubgraphMatcher(
        pattern_graph, match_output=False, match_placeholder=False, ignore_literals=ignore_literals
    )
    matches = [
        match
        for match in matcher.match(gm.graph)
        if all(accepts(match, gm.graph, pattern_graph) for accepts in match_filters or ())
    ]
    common = None if replacement is None else _graph_of(replacement)
    # Nodes that an earlier place replaced: later places take the new ones.
    changed, replaced = {}, []
    for match in matches:
        if replacement_callback is not None:
            graph = _graph_of(replacement_callback(match, gm.graph, pattern_graph))
        elif common is not None:
            graph = common
        else:
            raise AssertionError("Must provide either a replacement GraphModule or a callback")
        replaced.append(_replace(gm.graph, match, graph, changed))
    gm.recompile()
    if isinstance(replacement, Module):
        _take_attributes(gm, replacement)
    return replaced


def _graph_of(program):
    if isinstance(program, GraphModule):
        return program.graph
    return program if isinstance(program, Graph) else symbolic_trace(program).graph


def _replace(graph, match, replacement, changed):
    placeholders = [n for n in replacement.nodes if n.op == "placeholder"]
    if len(match.placeholder_nodes) != len(placeholders):
        raise AssertionError(
            f"The pattern has {len(match.placeholder_nodes)} arguments, its replacement "
            f"{len(placeholders)}"
        )
    inputs = [
        changed.get(value, value) if isinstance(value, Node) else value
        for value in match.placeholder_nodes
    ]
    val_map = dict(zip(placeholders, inputs))
    with _insertion_point(graph, match, inputs):
        results = graph.graph_copy(replacement, val_map)
    added = [new for old, new in val_map.items() if old.op != "placeholder"]
    results = results if isinstance(results, (list, tuple)) else (results,)
    if len(match.returning_nodes) != len(results):
        raise AssertionError(
            f"The pattern has {len(match.returning_nodes)} results, its replacement {len(results)}"
        )
    for old, new in zip(match.returning_nodes, results):
        old.replace_all_uses_with(new)
        changed[old] = new
    _erase(graph, match)
    return ReplacedPatterns(match.anchors[0], match.nodes_map, added)


def _insertion_point(graph, match, inputs):
    """Before the first user of a result, but behind all inputs."""
    matched = {n for n in match.nodes_map.values() if isinstance(n, Node)}
    users = [u for node in match.returning_nodes for u in node.users if u not in matched]
    last_input = max((n for n in inputs if isinstance(n, Node)), default=None)
    first_user = min(users, default=None)
    if first_user is None:
        return graph.inserting_after(max(match.returning_nodes))
    if last_input is None or first_user > last_input:
        return graph.inserting_before(first_user)
    raise RuntimeError(
        f"the pattern cannot be replaced at {first_user}: it runs before an input of the pattern"
    )


def _erase(graph, match):
    inner = [
        node
        for pattern_node, node in match.nodes_map.items()
        if pattern_node.op not in ("placeholder", "output")
    ]
    for node in sorted(inner, reverse=True):
        graph.erase_node(node)


def _take_attributes(gm, replacement):
    """Gives the module the attributes that the replacement's nodes name."""
    gm.delete_all_unused_submodules()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        if _find(gm, node.target) is None:
            value = _find(replacement, node.target)
            if value is None:
                raise RuntimeError(
                    f'Attempted to create a "{node.op}" node during subgraph rewriting with target '
                    f"{node.target}, but the referenced attribute does not exist in the "
                    "replacement GraphModule"
                )
            _assign_attr(copy.deepcopy(value), gm, node.target)
    gm.graph.lint()


def _find(module, path):
    for part in path.split("."):
        module = getattr(module, part, None)
        if module is None:
            return None
    return module
