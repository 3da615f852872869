"""merge_matmul: matrix products with the same right side become one product.

a @ w, b @ w      →      p, q = split(cat([a, b]) @ w); p, q
"""

import itertools
import operator

import taeda
from taeda.fx._symbolic_trace import symbolic_trace
from taeda.fx.passes.tools_common import legalize_graph

__all__ = ["are_nodes_independent", "may_depend_on", "merge_matmul", "split_result_tensors"]


def split_result_tensors(result, inputs):
    """The rows of the merged product that belong to each of the inputs."""
    return taeda.split(result, [x.shape[0] for x in inputs])


def may_depend_on(a, b, search_depth=6):
    """Whether `a` is computed from `b`; True also where the answer is farther away than asked."""
    if a is b:
        return True
    if not a.all_input_nodes:
        return False
    if search_depth == 0:
        return True
    return any(may_depend_on(used, b, search_depth - 1) for used in a.all_input_nodes)


def are_nodes_independent(nodes):
    """Whether none of the nodes is computed from another one."""
    nodes = set(nodes)
    seen, waiting = set(), [used for node in nodes for used in node.all_input_nodes]
    while waiting:
        node = waiting.pop()
        if node in nodes:
            return False
        if node not in seen:
            seen.add(node)
            waiting += node.all_input_nodes
    return True


def merge_matmul(in_mod):
    """A graph module in which products of matrices by the same matrix are computed at once."""
    gm = symbolic_trace(in_mod)
    products = {}
    for node in gm.graph.find_nodes(op="call_function", target=taeda.matmul):
        left, right = _operands(node)
        # Reads of one attribute are several nodes.
        key = right.target if right.op == "get_attr" else right
        products.setdefault(key, []).append((node, left, right))
    for merged in products.values():
        if len(merged) > 1 and are_nodes_independent([node for node, _, _ in merged]):
            _merge(gm.graph, merged)
    # What was added stands at the end, behind its users.
    legalize_graph(gm)
    gm.graph.lint()
    return gm


def _operands(node):
    values = dict(itertools.zip_longest(("input", "other"), node.args))
    values.update(node.kwargs)
    return values["input"], values["other"]


def _merge(graph, merged):
    lefts = [left for _, left, _ in merged]
    rows = graph.call_function(taeda.cat, (lefts,))
    product = graph.call_function(taeda.matmul, (rows, merged[0][2]))
    parts = graph.call_function(split_result_tensors, (product, lefts))
    for index, (node, _, _) in enumerate(merged):
        part = graph.call_function(operator.getitem, (parts, index))
        node.replace_all_uses_with(part)
        graph.erase_node(node)
