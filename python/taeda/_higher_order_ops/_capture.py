"""Control flow as nodes of a graph: the functions of an operator become graphs of their own.

    cond(pred, lambda a: a.sin(), lambda a: a + w, (x,))        # w is traced, too

    %true_graph_0 : get_attr[target=true_graph_0]
    %false_graph_0 : get_attr[target=false_graph_0]
    %cond : call_function[target=higher_order.cond](pred, true_graph_0, false_graph_0, (x, w))

What a function takes from around it and the tracer knows, `w` above, becomes an operand: a graph
refers to nothing outside but constants.
"""

import contextlib
import threading

from taeda import _C
from taeda._higher_order_operator import HigherOrderOperator
from taeda.utils._python_dispatch import (
    TorchDispatchMode,
    _get_current_dispatch_mode,
    _pop_mode_temporarily,
)
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
        if isinstance(mode, _Lifting):
            with _pop_mode_temporarily():
                mode.lift((args, kwargs))
                return self.dispatch(args, kwargs)
        if not _C._num_levels() and mode is not None and self._rule_of_class(type(mode)):
            with _pop_mode_temporarily() as tracer:
                args = self.closed(tracer, *args)
        return super().dispatch(args, kwargs)


class _Enclosing(threading.local):
    """The tracers around the graph that is being made, and what lifts for the inner ones."""

    def __init__(self):
        self.tracers = []
        self.lifting = []


_enclosing = _Enclosing()


class _Lifting(TorchDispatchMode):
    """Makes inputs of the graph of what a function takes from around it.

    It stands before the tracer of the function, which then knows every argument.
    """

    supports_higher_order_operators = True

    def __init__(self, tracer, outer):
        self.tracer = tracer
        self.outer = outer
        self.inputs = []  # (tensor, placeholder)

    @classmethod
    def is_infra_mode(cls):
        return True

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.lift((args, kwargs))
        return func(*args, **(kwargs or {}))

    def lift(self, tree):
        for leaf in tree_leaves(tree):
            node = self._node_around(leaf)
            if node is not None:
                names = [f"captured_{len(self.inputs)}"]
                (placeholder,) = _add_inputs(self.tracer.graph, names)
                placeholder.meta.update(node.meta)
                self.tracer.track(leaf, placeholder)
                self.inputs.append((leaf, placeholder))

    def _node_around(self, value):
        """The node of an enclosing graph that a value is; None for others."""
        if not isinstance(value, _Tensor) or self.tracer.node_of(value) is not None:
            return None
        nodes = [tracer.node_of(value) for tracer in reversed(self.outer)]
        return next((node for node in nodes if node is not None), None)


def closed_graphs(tracer, functions, operands):
    """Graphs of the functions on these operands, and the tensors that they take besides.

    Every graph takes the operands and then those tensors. Graphs that are closed stay as they are.
    """
    if all(getattr(fn, "_is_closed", False) for fn in functions):
        return functions, ()
    traced = [_graph_of(tracer, fn, operands) for fn in functions]
    # By address: comparing tensors compares their values.
    captured = {id(tensor): (tensor, node.meta) for _, inputs in traced for tensor, node in inputs}
    tensors = tuple(tensor for tensor, _ in captured.values())
    if _enclosing.lifting:
        # The function around this one takes them from further out.
        _enclosing.lifting[-1].lift(tensors)
    for graph, inputs in traced:
        _order_inputs(graph, inputs, captured)
        graph._is_closed = True
    return [graph for graph, _ in traced], tensors


def record(tracer, op, graphs, make_args, result):
    """A node of the operator, whose arguments `make_args` makes of the nodes of its graphs."""
    nodes = [tracer.add_submodule(prefix, graph) for prefix, graph in graphs]
    tracer.call(op, make_args(*nodes), {}, result)
    return result


def num_results(graph):
    """How many values a graph returns."""
    output = next(node for node in graph.graph.nodes if node.op == "output")
    return len(tree_leaves(output.args[0]))


def _graph_of(tracer, fn, operands):
    """The graph of a function, and its further inputs: (tensor, placeholder) each."""
    inputs = []
    _enclosing.tracers.append(tracer)
    try:
        call = _lifted(fn, list(_enclosing.tracers), inputs)
        return tracer.trace_subgraph(call, *[_as_input(o) for o in operands]), inputs
    finally:
        _enclosing.tracers.pop()


def _lifted(fn, outer, inputs):
    """The function by position, for which inputs are named, under a mode that lifts."""

    def call(*args):
        lifting = _Lifting(_C._fx.active_tracer(), outer)
        _enclosing.lifting.append(lifting)
        try:
            with lifting:
                results = fn(*args)
        finally:
            _enclosing.lifting.pop()
        _check_plain(results)
        lifting.lift(results)
        inputs.extend(lifting.inputs)
        return results

    return call


def _check_plain(results):
    # What has met a tensor of a transform is one: the transform is not active here.
    if any(_C._wrapper_info(leaf) for leaf in tree_leaves(results)):
        raise NotImplementedError(
            "a function that is recorded under a transform (grad, jvp, vmap) takes a tensor of "
            "that transform from around it; pass the tensor as an operand"
        )


def _as_input(value):
    if not isinstance(value, _Tensor):
        return value
    return value.detach().requires_grad_(value.requires_grad)


def _order_inputs(module, inputs, captured):
    """Gives the graph an input for each captured tensor, in that order, used or not."""
    if not captured:
        return
    known = {id(tensor): node for tensor, node in inputs}
    first = len(module.graph.find_nodes(op="placeholder")) - len(inputs)
    fresh_inputs = _add_inputs(module.graph, [f"arg{first + i}_1" for i in range(len(captured))])
    for (key, (_, meta)), fresh in zip(captured.items(), fresh_inputs):
        fresh.meta.update(meta)
        if key in known:
            known[key].replace_all_uses_with(fresh)
            module.graph.erase_node(known[key])
    module.recompile()


def _add_inputs(graph, names):
    """Further placeholders behind those that are there."""
    following = next((node for node in graph.nodes if node.op != "placeholder"), None)
    place = contextlib.nullcontext() if following is None else graph.inserting_before(following)
    with place:
        return [graph.create_node("placeholder", name, name=name) for name in names]
