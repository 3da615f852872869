"""CapabilityBasedPartitioner: groups the nodes that a backend takes into as few modules as it can.

    a → b → c → d    with b, d supported, c not     {b}, {d}
    a → b → d                                        {b, d}

Two groups become one unless a path from one to the other runs outside both.
"""

import logging

from taeda.fx.passes.infra._groups import Groups
from taeda.fx.passes.utils.fuser_utils import fuse_by_partitions

__all__ = ["CapabilityBasedPartitioner", "Partition"]

logger = logging.getLogger(__name__)


class Partition:
    """A group of nodes: a dict from each to its place in the graph, or None."""

    def __init__(self, id=None, nodes=None, node_orders=None):
        self.id = id
        nodes = list(nodes or ())
        orders = [None] * len(nodes) if node_orders is None else list(node_orders)
        if len(nodes) != len(orders):
            raise AssertionError("nodes and node_orders must have the same length")
        self.nodes = dict(zip(nodes, orders))

    def __repr__(self):
        return str(self.nodes)

    def add_node(self, node, node_order=None):
        self.nodes[node] = node_order

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
        groups = Groups(self.graph_module.graph)
        submodules = dict(self.graph_module.named_modules())
        computing = ("call_function", "call_method", "call_module", "get_attr")
        for node in reversed(self.graph_module.graph.nodes):
            groups.add(node)
            supported = self.operator_support.is_node_supported(submodules, node)
            if node.op in computing and supported:
                groups.start(node)
                self._join_others(groups, node)
        last = lambda nodes: max(map(groups.order.get, nodes))
        found = sorted(groups.members.values(), key=last, reverse=True)
        found = [nodes for nodes in found if self._is_worth_it(nodes)]
        return [Partition(i, sorted(nodes, key=groups.order.get)) for i, nodes in enumerate(found)]

    def _join_others(self, groups, node):
        """Joins a new group with those that it can be joined with: first the users', then all."""
        mine = groups.order[node]
        for other in dict.fromkeys(groups.of[u] for u in node.users if u in groups.of):
            if other in groups.members and groups.can_join(mine, other):
                groups.join(mine, other)
        tried = 0
        while not self.skip_horizontal_fusion:
            left = groups.within_reach(mine) & ~tried
            if not left:
                break
            other = left.bit_length() - 1  # the one that was begun first
            tried |= 1 << other
            if groups.can_join(mine, other):
                groups.join(mine, other)

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
