"""Graphs as plain data, for pickles: nodes as tuples in which numbers stand for nodes."""

from taeda.fx.node import map_aggregate, map_arg


class _Ref:
    """Stands for the node with this number."""

    def __init__(self, index):
        self.index = index


def records(graph):
    """The nodes as tuples, without meta but for whether a function was wrapped."""
    numbers = {node: i for i, node in enumerate(graph.nodes)}

    def ref(node):
        return _Ref(numbers[node])

    return [
        (
            (n.op, n.target, map_arg(n.args, ref), map_arg(n.kwargs, ref), n.name, n.type),
            n.meta.get("is_wrapped", False),
        )
        for n in graph.nodes
    ]


def rebuild(cls, nodes_as_tuples, codegen, tracer_cls):
    """The graph of these records."""
    graph, nodes, late = cls(tracer_cls=tracer_cls), [], []

    def node_of(value):
        return nodes[value.index] if isinstance(value, _Ref) else value

    for (op, target, args, kwargs, name, annotation), is_wrapped in nodes_as_tuples:
        try:
            inputs = (map_aggregate(args, node_of), map_aggregate(kwargs, node_of))
        except IndexError:  # used before it is defined: no graph to run, but one to look at
            inputs = ((), {})
            late.append((len(nodes), args, kwargs))
        node = graph.create_node(op, target, *inputs, name, annotation)
        if is_wrapped:
            node.meta["is_wrapped"] = True
        nodes.append(node)
    for index, args, kwargs in late:
        nodes[index].args = map_aggregate(args, node_of)
        nodes[index].kwargs = map_aggregate(kwargs, node_of)
    graph._codegen = codegen
    return graph
