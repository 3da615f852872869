"""Names and small questions that passes share."""

import heapq

import taeda
from taeda.fx._naming import qualified_name
from taeda.fx.node import map_aggregate

__all__ = [
    "FxNetAccFusionsFinder",
    "get_acc_ops_name",
    "get_node_target",
    "is_node_output_tensor",
    "legalize_graph",
]

Tensors = tuple
TensorOrTensors = object
NodeList = list
NodeSet = set
Names = list
CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


def get_acc_ops_name(k):
    """The name of an operator as lists of supported operators write it."""
    if isinstance(k, str):
        return k
    module = k.__module__
    if module and "acc_ops" in module:
        return f"acc_ops.{k.__name__}"
    return f"{module.replace('taeda._ops', 'taeda.ops') if module else ''}.{k.__name__}"


def get_node_target(submodules, node):
    """What a node runs, as text: a class for a module, a dotted name for a function."""
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(
            f"Expect op types of {', '.join(CALLABLE_NODE_OPS)}, but found {node.op}"
        )
    if node.op == "call_module":
        module = submodules[node.target]
        cls = getattr(module, "_base_class_origin", type(module))
        return f"{cls.__module__}.{cls.__qualname__}"
    if node.op == "call_function":
        is_acc = "acc_ops" in (getattr(node.target, "__module__", None) or "")
        return f"acc_ops.{node.target.__name__}" if is_acc else qualified_name(node.target)
    return node.target


def is_node_output_tensor(node):
    """Whether the node's value is a tensor, by what ShapeProp noted."""
    kind = node.meta.get("type")
    return isinstance(kind, type) and issubclass(kind, taeda.Tensor)


class FxNetAccFusionsFinder:
    """Groups of nodes that must run together, so that only tensors pass between submodules.

    A call gives {node: its group}. A node whose value is no tensor belongs together with its users,
    and with everything on a way from one member to another. A group with a node outside `acc_nodes`
    is dissolved, and its members leave `acc_nodes`.
    """

    def __init__(self, module, acc_nodes):
        self.module = module
        self.acc_nodes = acc_nodes
        self.nodes = list(module.graph.nodes)

    def __call__(self):
        groups = []
        for node in self.nodes:
            if node.op in CALLABLE_NODE_OPS and not is_node_output_tensor(node):
                users = {u for u in node.users if u.op in CALLABLE_NODE_OPS}
                if node in self.acc_nodes and users:
                    groups.append({node, *users})
        found = {}
        for group in self._merged(groups):
            if group <= self.acc_nodes:
                found.update(dict.fromkeys(group, group))
            else:
                self.acc_nodes -= group
        return found

    def _merged(self, groups):
        """Closed and disjoint groups."""
        groups = [self._closed(group) for group in groups]
        merged = []
        while groups:
            group = groups.pop()
            touching = [other for other in groups if other & group]
            if not touching:
                merged.append(group)
                continue
            groups = [other for other in groups if not other & group]
            groups.append(self._closed(group.union(*touching)))
        return merged

    def _closed(self, group):
        """The group with the nodes that lie between its members."""
        below, above = set(group), set(group)
        for node in self.nodes:
            if node.op in CALLABLE_NODE_OPS and any(n in below for n in node.all_input_nodes):
                below.add(node)
        for node in reversed(self.nodes):
            if any(user in above for user in node.users):
                above.add(node)
        return below & above


def legalize_graph(gm):
    """Puts the nodes into an order in which each stands behind its inputs, close to their own."""
    graph = gm.graph
    waiting = {node: len(node.all_input_nodes) for node in graph.nodes}
    numbers = {node: i for i, node in enumerate(graph.nodes)}
    ready = [(i, node) for node, i in numbers.items() if waiting[node] == 0]
    count = 0
    while ready:
        _, node = heapq.heappop(ready)
        graph._root.prepend(node)
        count += 1
        for user in node.users:
            waiting[user] -= 1
            if waiting[user] == 0:
                heapq.heappush(ready, (numbers[user], user))
    if count < len(numbers):
        stuck = sorted(node.name for node, left in waiting.items() if left)
        raise RuntimeError(f"Input graph has cycles, unable to add {stuck}")
    gm.recompile()
    return gm


stable_topological_sort = legalize_graph


def get_tensors(value):
    """The tensors in nested containers."""
    found = []

    def look(leaf):
        if isinstance(leaf, taeda.Tensor):
            found.append(leaf)

    map_aggregate(value, look)
    return found
