"""Control flow as nodes of a graph: the functions of an operator become graphs of their own.

    cond(pred, lambda a: a.sin(), lambda a: a + w, (x,))

    %true_graph_0 : get_attr[target=true_graph_0]
    %false_graph_0 : get_attr[target=false_graph_0]
    %cond : call_function[target=higher_order.cond](pred, true_graph_0, false_graph_0, (x, w))

Every tensor that a function takes from around it, `w` above, becomes an operand: a graph refers to
nothing outside. So transforms, gradients and files have to do with operands alone.
"""

from taeda import _C
from taeda._C import _fx
from taeda._higher_order_operator import HigherOrderOperator, takes_closed_graphs
from taeda.func.functionalization import functionalize
from taeda.fx.control_flow._custom_gradients import functions_as_calls
from taeda.fx.control_flow._functions import UserFunction
from taeda.fx.control_flow._lifting import (
    Lifting,
    add_inputs,
    below_levels,
    key_of,
    kinds_of_levels,
    lifted_outside,
    stand_in,
    tracing,
    tracing_of_program,
)
from taeda.fx.control_flow._regions import ClosedGraph
from taeda.fx.graph_module import GraphModule
from taeda.utils._python_dispatch import _get_current_dispatch_mode, _pop_mode_temporarily
from taeda.utils._pytree import tree_leaves

_Tensor = _C.Tensor


class ControlFlow(HigherOrderOperator):
    """An operator of C++ (`taeda/fx/control_flow/operators.h`), called with functions.

    Under a tracer the functions become regions, and the call goes to the dispatcher: autograd,
    transforms, functionalization and the tracer know it there. Elsewhere it is what runs inside.
    """

    graph_names = ()

    def closed(self, tracer, *args):
        """The arguments with graphs for functions and with what these take as operands."""
        raise NotImplementedError

    def is_captured(self):
        """Whether the innermost mode wants the operator as one call."""
        mode = _get_current_dispatch_mode()
        return isinstance(mode, _fx.Tracer) or _fx.traces_program() or super().is_captured()

    def _closed(self, args):
        """The arguments with graphs for functions, where a trace takes the call; else None."""
        mode = _get_current_dispatch_mode()
        if takes_closed_graphs(mode):
            with _pop_mode_temporarily():
                return self._closed(args)
        if isinstance(mode, _fx.Tracer):
            args = lifted_outside(mode, args)
            with _pop_mode_temporarily() as tracer:
                return self.closed(tracer, *args)
        if _fx.traces_program():
            with tracing_of_program() as tracer, functions_as_calls():
                return _fx.call_below_program(tracer, self.closed, (tracer, *args))
        return None

    def dispatch(self, args, kwargs):
        mode = _get_current_dispatch_mode()
        if isinstance(mode, Lifting):
            with _pop_mode_temporarily():
                return self.dispatch(args, kwargs)
        closed = self._closed(args)
        if closed is not None:
            return _fx.call_control_flow(self._name, closed)
        if super().is_captured() and not takes_closed_graphs(mode):
            with _pop_mode_temporarily():
                return self._ask(mode, args, kwargs)
        return _fx.call_control_flow(self._name, tuple(map(_with_flat_results, args)))


def _with_flat_results(arg):
    """A function that gives the leaves of its results; other arguments as they are."""
    if isinstance(arg, (UserFunction, _Tensor)) or not callable(arg):
        return arg
    return lambda *operands: tuple(tree_leaves(arg(*operands)))


def closed_graphs(tracer, functions, operands):
    """Graphs of the functions on these operands, and the tensors and sizes that they take besides.

    Every graph takes the operands and then those. Graphs that are closed stay as they are.
    """
    if all(isinstance(fn, ClosedGraph) for fn in functions):
        return functions, ()
    is_functional = "functionalize" in kinds_of_levels()
    examples = below_levels(lambda: [stand_in(o) for o in operands])
    traced = [below_levels(_graph_of, tracer, fn, examples, is_functional) for fn in functions]
    captured = {key_of(x): (x, node.meta) for _, inputs in traced for x, node in inputs}
    for graph, inputs in traced:
        _order_inputs(graph, len(operands), inputs, captured)
    values = tuple(value for value, _ in captured.values())
    return [ClosedGraph(graph) for graph, _ in traced], lifted_outside(tracer, values)


def _graph_of(tracer, fn, operands, is_functional):
    """The graph of a function, and its further inputs: (value, node) each."""
    inputs = []
    run = _run_users if isinstance(fn, UserFunction) else _run

    def call(*args):
        lifting = Lifting(_C._fx.active_tracer())
        results = run(lifting, fn, args, is_functional)
        inputs.extend(lifting.inputs)
        return results

    with tracing(tracer):
        graph = tracer.trace_subgraph(call, *operands)
    return graph, inputs + _constants(graph)


def _run(lifting, fn, args, is_functional):
    # A graph of a program may write to what it makes; gradients made of graphs write to nothing,
    # and autograd is not for functional tensors.
    is_graph = isinstance(fn, GraphModule)
    return lifting.run(functionalize(fn) if is_functional and is_graph else fn, args)


def _run_users(lifting, fn, args, is_functional):
    function = functionalize(fn.call) if is_functional else fn.call
    results = fn.checked(lambda *given: lifting.run(function, given), args)
    lifting.check_unwritten(fn.name)
    return results


def _constants(module):
    """(tensor, node that reads it) for the tensors that a graph holds."""
    reads = [node for node in module.graph.nodes if node.op == "get_attr"]
    pairs = [(getattr(module, node.target), node) for node in reads]
    return [(value, node) for value, node in pairs if isinstance(value, _Tensor)]


def _order_inputs(module, first, inputs, captured):
    """Gives the graph an input for each captured value, in that order, used or not."""
    if not captured:
        return
    names = [f"arg{first + i}_1" for i in range(len(captured))]
    fresh = dict(zip(captured, add_inputs(module.graph, names)))
    for key, (_, meta) in captured.items():
        fresh[key].meta.update(meta)
    for value, node in inputs:
        node.replace_all_uses_with(fresh[key_of(value)])
        module.graph.erase_node(node)
        if node.op == "get_attr":
            delattr(module, node.target)
    module.recompile()
