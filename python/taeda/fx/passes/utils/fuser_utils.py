"""Moves groups of nodes of a graph into submodules."""

import copy
import operator

from taeda.fx.graph import Graph
from taeda.fx.passes.tools_common import legalize_graph
from taeda.fx.passes.utils.common import lift_subgraph_as_module

__all__ = [
    "erase_nodes",
    "fuse_as_graphmodule",
    "fuse_by_partitions",
    "insert_subgm",
    "topo_sort",
    "validate_partition",
]


_CYCLES = "Invalid partition, found dependency cycles"


def topo_sort(nodes):
    """The nodes of a group, each behind those of the group that it uses."""
    inside = set(nodes)
    waiting = {n: sum(i in inside for i in n.all_input_nodes) for n in nodes}
    ready = [n for n in nodes if waiting[n] == 0]
    order = []
    for node in ready:
        order.append(node)
        for user in node.users:
            if user in waiting:
                waiting[user] -= 1
                if waiting[user] == 0:
                    ready.append(user)
    if len(order) != len(nodes):
        raise AssertionError("topological sorted nodes doesn't have same length as input nodes")
    return order


def validate_partition(partition):
    """Whether the nodes can run as one: nothing outside lies between two of them."""
    return _is_closed(partition, lambda node: True)


def _is_closed(partition, may_lead_back):
    """Whether no path leaves the group and comes back, over nodes that may lead back."""
    inside = set(partition)
    pending = [u for n in partition for u in n.users if u not in inside]
    seen = set(pending)
    while pending:
        node = pending.pop()
        if node in inside:
            return False
        for user in node.users:
            if user not in seen and may_lead_back(user):
                seen.add(user)
                pending.append(user)
    return True


def fuse_as_graphmodule(
    gm, nodes, module_name, partition_lookup_table=None, *, always_return_tuple=False
):
    """(module, inputs, outputs): the group as a module, and the nodes of the graph it replaces."""
    for node in nodes:
        if node.graph.owning_module is not gm:
            raise AssertionError(
                f"{node} doesn't belong to passed in graph module {gm._get_name()}"
            )
        if node._erased:
            raise AssertionError(f"{node} has been removed from owning graph")
    if not validate_partition(nodes):
        raise AssertionError(_CYCLES)
    return _extract(gm, nodes, module_name, always_return_tuple)


def _extract(gm, nodes, module_name, always_return_tuple):
    graph, copies, inputs = Graph(), {}, {}

    def value_of(node):
        if node not in copies:
            placeholder = graph.placeholder(node.name, type_expr=node.type)
            placeholder.meta = copy.copy(node.meta)
            copies[node] = placeholder
            inputs[node] = placeholder
        return copies[node]

    inside = set(nodes)
    for node in nodes:
        for used in node.all_input_nodes:
            if used not in inside:
                with graph.inserting_before(_first_step(graph)):
                    value_of(used)
        copies[node] = graph.node_copy(node, value_of)
    outputs = {n: copies[n] for n in nodes if any(u not in inside for u in n.users)}
    results = tuple(outputs.values())
    graph.output(results[0] if len(results) == 1 and not always_return_tuple else results)
    graph.lint()
    module, _ = lift_subgraph_as_module(gm, graph, comp_name="", class_name=module_name)
    return module, tuple(inputs), tuple(outputs)


def _first_step(graph):
    """The first node that is no placeholder; None stands for the end."""
    return next((n for n in graph.nodes if n.op != "placeholder"), graph._root)


def insert_subgm(gm, sub_gm, orig_inputs, orig_outputs, insertion_point=None):
    """Calls the module in place of the nodes that it replaces, behind `insertion_point`."""
    name = type(sub_gm).__name__
    gm.add_submodule(name, sub_gm)
    # A group whose results nobody reads may stand anywhere behind its inputs.
    if insertion_point is None:
        insertion_point = max(orig_outputs) if orig_outputs else gm.graph.output_node().prev
    with gm.graph.inserting_after(insertion_point):
        call = gm.graph.call_module(name, args=orig_inputs)
    results = next(n for n in sub_gm.graph.nodes if n.op == "output").args[0]
    if len(orig_outputs) == 1 and not isinstance(results, tuple):
        orig_outputs[0].replace_all_uses_with(call, propagate_meta=True)
        return gm
    with gm.graph.inserting_after(call):
        for index, output in enumerate(orig_outputs):
            item = gm.graph.call_function(operator.getitem, (call, index))
            output.replace_all_uses_with(item, propagate_meta=True)
    return gm


def erase_nodes(gm, nodes):
    """Removes nodes that nobody uses any more, the last first."""
    for node in reversed(nodes):
        gm.graph.erase_node(node)


def fuse_by_partitions(gm, partitions, prefix="fused_", always_return_tuple=False):
    """Replaces each group of nodes by a call of a submodule `<prefix><number>`."""
    partitions = [topo_sort(list(nodes)) for nodes in partitions]
    for nodes in partitions:
        # The graph is in order still: what stands behind the last node does not lead back.
        last = max(nodes)
        if not _is_closed(nodes, lambda node, last=last: node < last or node is last):
            raise AssertionError(_CYCLES)
    for number, nodes in enumerate(partitions):
        sub_gm, inputs, outputs = _extract(gm, nodes, f"{prefix}{number}", always_return_tuple)
        insert_subgm(gm, sub_gm, inputs, outputs)
        erase_nodes(gm, nodes)
    try:
        return legalize_graph(gm)
    except RuntimeError as error:  # two groups that each can run as one, but not both
        raise AssertionError(_CYCLES) from error
