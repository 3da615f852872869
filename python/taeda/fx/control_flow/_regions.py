"""Regions: in Python a submodule that a get_attr node names, in C++ and in files a graph.

%true_graph_0 = get_attr[true_graph_0]
%cond = cond(%p, %true_graph_0, ..., (%x,))
                      <->  cond = higher_order::cond(p, graph(x) {...}, ..., (x,))
"""

import itertools

import taeda
from taeda.fx.graph import Graph
from taeda.fx.graph_module import GraphModule
from taeda.utils._pytree import tree_leaves


def with_regions(module):
    """The graph of a module, its nodes holding the graphs that they call."""
    if not any(_submodule(module, node) for node in module.graph.nodes):
        return module.graph
    graph, values = Graph(), {}
    for node in module.graph.nodes:
        child = _submodule(module, node)
        if child is not None:
            _check_closed(node, child)
            values[node] = with_regions(child)
        else:
            values[node] = graph.node_copy(node, lambda n: values[n])
    return graph


def with_submodules(graph, known=None):
    """A module that holds the graphs which nodes of `graph` call; the nodes name them.

    known: names of the graphs that some nodes call.
    """
    root = taeda.nn.Module()
    for node in list(graph.nodes):
        if not any(isinstance(arg, Graph) for arg in node.args):
            continue
        args, names = [], iter(getattr(node.target, "graph_names", ()))
        for arg in node.args:
            if isinstance(arg, Graph):
                name = (known or {}).get(node)
                if name is None:
                    name = _free_name(root, next(names, f"{node.name}_graph"))
                setattr(root, name, GraphModule(with_submodules(arg), arg))
                with graph.inserting_before(node):
                    arg = graph.create_node("get_attr", name)
            args.append(arg)
        node.args = tuple(args)
    return root


class ClosedGraph:
    """The graph of a function that takes all it needs as operands: what C++ has as a region."""

    def __init__(self, module):
        self.module = module

    def __call__(self, *operands):
        return self.module(*operands)

    @property
    def graph(self):
        """The graph, with the regions of its nodes inside."""
        return with_regions(self.module)

    def examples(self):
        """What looks like the results: fake tensors, and numbers themselves."""
        leaves = tree_leaves(self.module.graph.output_node().args[0])
        return [leaf.meta["val"] if hasattr(leaf, "meta") else leaf for leaf in leaves]


def closed_graph_of(graph):
    """The region that C++ made as this graph."""
    return ClosedGraph(GraphModule(with_submodules(graph), graph))


def _free_name(root, prefix):
    return next(name for i in itertools.count() if not hasattr(root, name := f"{prefix}_{i}"))


def _submodule(module, node):
    """The GraphModule that a node reads; None for other nodes."""
    if node.op != "get_attr" or "." in node.target:
        return None
    child = getattr(module, node.target, None)
    return child if isinstance(child, GraphModule) else None


def _check_closed(node, child):
    reads = [n.target for n in child.graph.nodes if n.op == "get_attr" and not _submodule(child, n)]
    if reads:
        raise RuntimeError(
            f"the function behind {node.name} takes tensors from around it that are no operands: "
            f"{', '.join(reads)}. Pass them as operands."
        )
