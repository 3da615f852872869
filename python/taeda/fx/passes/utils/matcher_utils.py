"""SubgraphMatcher: finds the places of a graph that look like a pattern."""

from dataclasses import dataclass, field

import taeda
from taeda.fx.graph_module import _get_attr
from taeda.fx.node import Node

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """One place: which node stands for which of the pattern, and what goes in and comes out."""

    anchors: list
    nodes_map: dict = field(default_factory=dict)
    placeholder_nodes: list = field(default_factory=list)
    returning_nodes: list = field(default_factory=list)
    name_node_map: dict = field(default_factory=dict)

    def __copy__(self):
        return InternalMatch(
            self.anchors, dict(self.nodes_map), list(self.placeholder_nodes), self.returning_nodes
        )


class SubgraphMatcher:
    """Looks for a pattern, from its results backwards.

    A placeholder of the pattern matches anything, unless `match_placeholder`. With `match_output`
    the output must be the graph's output. `ignore_literals` lets constants differ.
    """

    def __init__(
        self,
        pattern,
        match_output=False,
        match_placeholder=False,
        remove_overlapping_matches=True,
        ignore_literals=False,
    ):
        self.pattern = pattern
        self.match_output = match_output
        self.match_placeholder = match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        self.ignore_literals = ignore_literals
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op != "output" and not node.users:
                raise AssertionError(
                    "SubgraphMatcher cannot be initialized with an pattern with dead code"
                )
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        output = next(iter(reversed(pattern.nodes)))
        self.pattern_returning_nodes = output.all_input_nodes
        if match_output:
            self.pattern_anchors = [output]
        else:
            # A result that another result is made of is found on the way.
            self.pattern_anchors = [n for n in self.pattern_returning_nodes if len(n.users) == 1]

    def match(self, graph, node_name_match=""):
        """The places, in the order of the graph."""
        candidates = [
            [node for node in graph.nodes if self._is_alike(anchor, node)]
            for anchor in self.pattern_anchors
        ]
        found = []
        self._extend(InternalMatch(anchors=self.pattern_anchors), candidates, 0, found)
        found = [match for match in found if self._is_contained(match)]
        for match in found:
            self._finish(match)
        return self._without_overlaps(found) if self.remove_overlapping_matches else found

    def _extend(self, match, candidates, index, found):
        """Tries every candidate for the anchors from `index` on."""
        if index == len(self.pattern_anchors):
            match.placeholder_nodes = [
                match.nodes_map[n] for n in self.pattern_placeholder_nodes if n in match.nodes_map
            ]
            found.append(match)
            return
        anchor = self.pattern_anchors[index]
        for node in candidates[index]:
            attempt = match.__copy__()
            if self._match_nodes(anchor, node, attempt):
                self._extend(attempt, candidates, index + 1, found)

    def _finish(self, match):
        nodes_map = match.nodes_map
        match.placeholder_nodes = [nodes_map[n] for n in self.pattern_placeholder_nodes]
        match.returning_nodes = [nodes_map[n] for n in self.pattern_returning_nodes]
        match.name_node_map = {n.name: g for n, g in nodes_map.items()}

    # ---- comparing ----
    def _is_alike(self, pattern_node, node):
        """Whether the nodes do the same, their arguments aside."""
        if pattern_node.op == "placeholder" and not self.match_placeholder:
            return True
        if pattern_node.op != node.op:
            return False
        if pattern_node.op in ("placeholder", "output"):
            return True
        if pattern_node.op == "get_attr":
            return self._is_same_attribute(pattern_node, node)
        return pattern_node.target == node.target

    def _is_same_attribute(self, pattern_node, node):
        mine, theirs = pattern_node.graph.owning_module, node.graph.owning_module
        if mine is None or theirs is None:
            return pattern_node.target == node.target
        first, second = _get_attr(mine, pattern_node.target), _get_attr(theirs, node.target)
        if isinstance(first, taeda.Tensor) and isinstance(second, taeda.Tensor):
            return True
        return type(first) is type(second) and first == second

    def _match_nodes(self, pattern_node, node, match):
        nodes_map = match.nodes_map
        if pattern_node in nodes_map:
            return nodes_map[pattern_node] is node
        if any(known is node for known in nodes_map.values()):
            return False
        if not self._is_alike(pattern_node, node):
            return False
        before = dict(nodes_map)
        nodes_map[pattern_node] = node
        if pattern_node.op == "placeholder" or self._match_arguments(pattern_node, node, match):
            return True
        nodes_map.clear()
        nodes_map.update(before)
        return False

    def _match_arguments(self, pattern_node, node, match):
        first, second = (pattern_node.args, pattern_node.kwargs), (node.args, node.kwargs)
        if len(first[0]) != len(second[0]) or first[1].keys() != second[1].keys():
            first, second = _by_schema(pattern_node), _by_schema(node)
        return self._match_values(first, second, match)

    def _match_values(self, pattern_value, value, match):
        if isinstance(pattern_value, Node):
            if isinstance(value, Node):
                return self._match_nodes(pattern_value, value, match)
            return self._match_literal(pattern_value, value, match)
        if isinstance(value, Node):
            return False
        if isinstance(pattern_value, dict):
            return (
                isinstance(value, dict)
                and pattern_value.keys() == value.keys()
                and all(self._match_values(v, value[k], match) for k, v in pattern_value.items())
            )
        if isinstance(pattern_value, (list, tuple)):
            return (
                isinstance(value, (list, tuple))
                and len(pattern_value) == len(value)
                and all(self._match_values(p, v, match) for p, v in zip(pattern_value, value))
            )
        if self.ignore_literals:
            return True
        return type(pattern_value) is type(value) and pattern_value == value

    def _match_literal(self, pattern_node, value, match):
        """A placeholder stands for a constant too, the same one everywhere."""
        if pattern_node.op != "placeholder":
            return False
        known = match.nodes_map.setdefault(pattern_node, value)
        return known is value or (type(known) is type(value) and known == value)

    # ---- choosing ----
    def _is_contained(self, match):
        """Whether nobody outside uses what the pattern computes on the way."""
        outside = {n for n in self.pattern_placeholder_nodes if n in match.nodes_map}
        inner = {n: g for n, g in match.nodes_map.items() if n not in outside}
        matched = set(inner.values())
        for pattern_node, node in inner.items():
            if pattern_node in self.pattern_returning_nodes or not isinstance(node, Node):
                continue
            if any(user not in matched for user in node.users):
                return False
        return True

    def _without_overlaps(self, found):
        kept, taken = [], set()
        for match in found:
            nodes = {
                node
                for pattern_node, node in match.nodes_map.items()
                if isinstance(node, Node) and pattern_node.op not in ("placeholder", "output")
            }
            if taken.isdisjoint(nodes):
                kept.append(match)
                taken |= nodes
        return kept


def _by_schema(node):
    """(args, {}) with defaults filled in for operators with a schema; else as they are."""
    schema = getattr(node.target, "_schema", None)
    if node.op != "call_function" or schema is None:
        return node.args, node.kwargs
    values = []
    for i, argument in enumerate(schema.arguments):
        if i < len(node.args) and not argument.kwarg_only:
            values.append(node.args[i])
        else:
            values.append(node.kwargs.get(argument.name, argument.default_value))
    return tuple(values), {}
