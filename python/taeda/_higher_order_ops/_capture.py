"""Control flow as nodes of a graph: the functions of an operator become graphs of their own.

    cond(pred, lambda a: a.sin(), lambda a: a + w, (x,))        # w is traced, too

    %true_graph_0 : get_attr[target=true_graph_0]
    %false_graph_0 : get_attr[target=false_graph_0]
    %cond : call_function[target=higher_order.cond](pred, true_graph_0, false_graph_0, (x, w))

What a function takes from around it and the tracer knows, `w` above, becomes an operand: a graph
refers to nothing outside but constants.
"""

import threading

from taeda import _C
from taeda._higher_order_operator import HigherOrderOperator
from taeda.utils._python_dispatch import _get_current_dispatch_mode, _pop_mode_temporarily
from taeda.utils._pytree import tree_leaves

_Tensor = _C.Tensor

# The rule of an operator for the tracer of make_fx, which need not be loaded.
TRACER = "taeda.fx.experimental.proxy_tensor.ProxyTorchDispatchMode"


class ControlFlow(HigherOrderOperator):
    """An operator whose functions become closed graphs before anything else sees them.

    Gradients then reach what the functions took from around them, as operands.
    """

    runs_inline = True

    def closed(self, tracer, *args):
        """The arguments with graphs for functions and with what these take as operands."""
        raise NotImplementedError

    def dispatch(self, args, kwargs):
        mode = _get_current_dispatch_mode()
        if not _C._num_levels() and mode is not None and self._rule_of_class(type(mode)):
            with _pop_mode_temporarily() as tracer:
                args = self.closed(tracer, *args)
        return super().dispatch(args, kwargs)


class _Enclosing(threading.local):
    """The tracers around the graph that is being made, outermost first."""

    def __init__(self):
        self.tracers = []


_enclosing = _Enclosing()


def closed_graphs(tracer, functions, operands):
    """Graphs of the functions on these operands, and the tensors that they take besides.

    Every graph takes the operands and then those tensors. Graphs that are closed stay as they are.
    """
    if all(getattr(fn, "_is_closed", False) for fn in functions):
        return functions, ()
    _enclosing.tracers.append(tracer)
    try:
        graphs = [_graph_of(tracer, fn, operands) for fn in functions]
        captured = _captured_by(graphs)
    finally:
        _enclosing.tracers.pop()
    for graph in graphs:
        _take_as_arguments(graph, captured)
        graph._is_closed = True
    return graphs, tuple(captured)


def record(tracer, op, graphs, make_args, result):
    """A node of the operator, whose arguments `make_args` makes of the nodes of its graphs."""
    nodes = [tracer.add_submodule(prefix, graph) for prefix, graph in graphs]
    tracer.call(op, make_args(*nodes), {}, result)
    return result


def num_results(graph):
    """How many values a graph returns."""
    return len(tree_leaves(_output(graph).args[0]))


def _output(graph):
    return next(node for node in graph.graph.nodes if node.op == "output")


def _graph_of(tracer, fn, operands):
    from taeda.fx.experimental.proxy_tensor import make_fx

    table = getattr(tracer, "decomposition_table", None)
    return make_fx(_by_position(fn), table)(*[_as_input(o) for o in operands])


def _by_position(fn):
    """The function without names for its arguments, which become arg0_1, arg1_1, ..."""

    def call(*args):
        results = fn(*args)
        # What has met a tensor of a transform is one: the transform is not active here.
        if any(_C._wrapper_info(leaf) for leaf in tree_leaves(results)):
            raise NotImplementedError(
                "a function that is recorded under a transform (grad, jvp, vmap) takes a tensor of "
                "that transform from around it; pass the tensor as an operand"
            )
        return results

    return call


def _as_input(value):
    if not isinstance(value, _Tensor):
        return value
    return value.detach().requires_grad_(value.requires_grad)


def _captured_by(graphs):
    """Tensors in the graphs' attributes that an enclosing tracer knows, each once."""
    found = []
    for graph in graphs:
        for node in graph.graph.find_nodes(op="get_attr"):
            value = getattr(graph, node.target, None)
            if _is_traced(value) and not any(value is known for known in found):
                found.append(value)
    return found


def _is_traced(value):
    return isinstance(value, _Tensor) and any(
        tracer.node_of(value) is not None for tracer in _enclosing.tracers
    )


def _take_as_arguments(graph, captured):
    """Gives the graph a further input for each tensor, in place of the attribute that held it."""
    if not captured:
        return
    attributes = {}
    for node in graph.graph.find_nodes(op="get_attr"):
        attributes.setdefault(id(getattr(graph, node.target, None)), []).append(node)
    for value, placeholder in zip(captured, _add_inputs(graph.graph, len(captured))):
        for node in attributes.get(id(value), ()):
            placeholder.meta.update(node.meta)
            node.replace_all_uses_with(placeholder)
            graph.graph.erase_node(node)
            delattr(graph, node.target)
    graph.recompile()


def _add_inputs(graph, count):
    """Further placeholders behind those that are there."""
    inputs = graph.find_nodes(op="placeholder")
    following = inputs[-1].next if inputs else next(iter(graph.nodes))
    with graph.inserting_before(following):
        names = [f"arg{len(inputs) + i}_1" for i in range(count)]
        return [graph.create_node("placeholder", name, name=name) for name in names]
