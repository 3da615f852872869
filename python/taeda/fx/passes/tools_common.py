"""Names and small questions that passes share."""

import heapq

import taeda
from taeda.fx._naming import qualified_name
from taeda.fx.node import map_aggregate

__all__ = ["get_acc_ops_name", "get_node_target", "is_node_output_tensor", "legalize_graph"]

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
