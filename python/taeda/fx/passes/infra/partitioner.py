"""CapabilityBasedPartitioner: groups the nodes that a backend takes into as few modules as it can.

    a → b → c → d    with b, d supported, c not     {b}, {d}
    a → b → d                                        {b, d}

Two groups become one unless a path from one to the other runs outside both.
"""

import logging

from taeda.fx.passes.utils.fuser_utils import fuse_by_partitions

__all__ = ["CapabilityBasedPartitioner", "Partition"]

logger = logging.getLogger(__name__)


class Partition:
    """A group of nodes."""

    def __init__(self, id=None, nodes=None):
        self.id = id
        self.nodes = dict.fromkeys(nodes or ())

    def __repr__(self):
        return str(self.nodes)

    def add_node(self, node):
        self.nodes[node] = None

    def remove_node(self, node):
        del self.nodes[node]

    def size(self):
        return len(self.nodes)


class CapabilityBasedPartitioner:
    """Finds groups of supported nodes and turns them into submodules."""

    def __init__(
        self,
        graph_module,
        operator_support,
        allows_single_node_partition=False,
        non_compute_ops=None,
        allowed_single_node_partition_ops=None,
        skip_horizontal_fusion=False,
    ):
        self.graph_module = graph_module
        self.operator_support = operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = non_compute_ops or ()
        self.allowed_single_node_partition_ops = allowed_single_node_partition_ops or ()
        self.skip_horizontal_fusion = skip_horizontal_fusion

    def _is_node_supported(self, node):
        submodules = dict(self.graph_module.named_modules())
        return self.operator_support.is_node_supported(submodules, node)

    def propose_partitions(self):
        """The groups, the last one of the graph first."""
        groups = _Groups(self.graph_module.graph)
        submodules = dict(self.graph_module.named_modules())
        computing = ("call_function", "call_method", "call_module", "get_attr")
        for node in reversed(self.graph_module.graph.nodes):
            supported = self.operator_support.is_node_supported(submodules, node)
            if node.op not in computing or not supported:
                continue
            mine = groups.start(node)
            users = [groups.of[u] for u in node.users if u in groups.of]
            others = users if self.skip_horizontal_fusion else users + list(groups.members)
            for other in dict.fromkeys(others):
                if (
                    other != mine
                    and other in groups.members
                    and not groups.closes_cycle(mine, other)
                ):
                    mine = groups.merge(mine, other)
        last = lambda nodes: max(map(groups.order.get, nodes))
        found = sorted(groups.members.values(), key=last, reverse=True)
        found = [nodes for nodes in found if self._is_worth_it(nodes)]
        return [Partition(i, sorted(nodes, key=groups.order.get)) for i, nodes in enumerate(found)]

    def _is_worth_it(self, nodes):
        """Whether a group does enough: more than one step that computes, unless one will do."""
        computing = [n for n in nodes if not self._is_non_compute(n) and n.op != "get_attr"]
        if self.allows_single_node_partition:
            return bool(nodes)
        allowed = set(self.allowed_single_node_partition_ops)
        return len(computing) > 1 or any(_name(n) in allowed for n in computing)

    def _is_non_compute(self, node):
        return node.op == "call_function" and _name(node) in self.non_compute_ops

    def fuse_partitions(self, partitions, prefix="fused_"):
        """Replaces each group by a call of a submodule."""
        return fuse_by_partitions(
            self.graph_module, [list(partition.nodes) for partition in partitions], prefix=prefix
        )

    def remove_bookend_non_compute_ops(self, partitions):
        """Takes steps that compute nothing off the begin and the end of groups."""
        for partition in partitions:
            is_changed = True
            while is_changed:
                edge = [
                    node
                    for node in partition.nodes
                    if self._is_non_compute(node)
                    and (
                        not any(i in partition.nodes for i in node.all_input_nodes)
                        or not any(u in partition.nodes for u in node.users)
                    )
                ]
                for node in edge:
                    partition.remove_node(node)
                is_changed = bool(edge)

    def partition_and_fuse(self, prefix="fused_"):
        """Both at once."""
        return self.fuse_partitions(self.propose_partitions(), prefix=prefix)


def _name(node):
    from taeda.fx._naming import qualified_name

    return qualified_name(node.target) if callable(node.target) else node.target


class _Groups:
    """Nodes in disjoint groups, and whether joining two would make a cycle."""

    def __init__(self, graph):
        self.order = {node: i for i, node in enumerate(graph.nodes)}
        self.of = {}
        self.members = {}

    def start(self, node):
        number = self.order[node]
        self.of[node] = number
        self.members[number] = {node}
        return number

    def merge(self, first, second):
        """One group with the number of the first."""
        moved = self.members.pop(second)
        for node in moved:
            self.of[node] = first
        self.members[first] |= moved
        return first

    def closes_cycle(self, first, second):
        """Whether a path leaves the two groups and comes back."""
        inside = self.members[first] | self.members[second]
        last = max(self.order[n] for n in inside)
        pending = [u for n in inside for u in n.users if u not in inside]
        seen = set(pending)
        while pending:
            node = pending.pop()
            group = self.members.get(self.of.get(node), (node,))
            if node in inside:
                return True
            for member in group:
                for user in member.users:
                    if user in inside:
                        return True
                    if user not in seen and (self.order[user] <= last or user in self.of):
                        seen.add(user)
                        pending.append(user)
        return False
