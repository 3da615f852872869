"""Nodes of a graph grouped by the module or function of the program that they come from."""

from dataclasses import dataclass, field

__all__ = ["SourcePartition", "check_subgraphs_connected", "get_source_partitions"]


@dataclass
class SourcePartition:
    """The nodes of one call, and what goes in and comes out."""

    nodes: list
    source: object
    input_nodes: list = field(default_factory=list)
    output_nodes: list = field(default_factory=list)
    params: list = field(default_factory=list)


def _source_of(node):
    """(name of the call, what was called), or None."""
    stack = node.meta.get("source_fn_stack")
    if stack:
        return stack[-1]
    modules = node.meta.get("nn_module_stack")
    if node.op == "call_module" and modules:
        name = next(reversed(modules))
        return name, modules[name][1]
    return (node.name, node.target) if node.op == "call_function" else None


def get_source_partitions(graph, wanted_sources, filter_fn=None):
    """{source: partitions} for the functions and classes of modules asked for.

    `filter_fn(node)` must accept every node of a partition.
    """
    calls = {}
    for node in graph.nodes:
        source = _source_of(node)
        if source is not None and source[1] in wanted_sources:
            calls.setdefault(source[1], {}).setdefault(source[0], []).append(node)
    found = {}
    for source, by_name in calls.items():
        partitions = [_partition(nodes, source) for nodes in by_name.values()]
        if filter_fn is not None:
            partitions = [p for p in partitions if all(map(filter_fn, p.nodes))]
        if partitions:
            found[source] = partitions
    return found


def _partition(nodes, source):
    inside = set(nodes)
    used = dict.fromkeys(i for n in nodes for i in n.all_input_nodes if i not in inside)
    return SourcePartition(
        nodes,
        source,
        [n for n in used if n.op != "get_attr"],
        [n for n in nodes if any(user not in inside for user in n.users)],
        [n for n in used if n.op == "get_attr"],
    )


def check_subgraphs_connected(subgraph1, subgraph2):
    """Whether the second reads a result of the first."""
    made = set(subgraph1.nodes)
    return any(i in made for n in subgraph2.nodes for i in n.all_input_nodes)
