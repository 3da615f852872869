"""Control flow as nodes of a graph: the functions of an operator become graphs of their own.

    cond(pred, lambda a: a.sin(), lambda a: a + w, (x,))

    %true_graph_0 : get_attr[target=true_graph_0]
    %false_graph_0 : get_attr[target=false_graph_0]
    %cond : call_function[target=higher_order.cond](pred, true_graph_0, false_graph_0, (x, w))

Every tensor that a function takes from around it, `w` above, becomes an operand: a graph refers to
nothing outside. So transforms, gradients and files have to do with operands alone.
"""

from taeda import _C
from taeda._higher_order_operator import HigherOrderOperator
from taeda.func.functionalization import functionalize
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
)
from taeda.fx.graph_module import GraphModule
from taeda.utils._python_dispatch import _get_current_dispatch_mode, _pop_mode_temporarily
from taeda.utils._pytree import tree_leaves

_Tensor = _C.Tensor

# The rule of an operator for the tracer of make_fx, which need not be loaded.
TRACER = "taeda.fx.operator_trace.ProxyTorchDispatchMode"


class ControlFlow(HigherOrderOperator):
    """An operator whose functions become closed graphs before anything else sees them."""

    runs_inline = True

    def closed(self, tracer, *args):
        """The arguments with graphs for functions and with what these take as operands."""
        raise NotImplementedError

    def dispatch(self, args, kwargs):
        mode = _get_current_dispatch_mode()
        if isinstance(mode, Lifting):
            with _pop_mode_temporarily():
                return self.dispatch(args, kwargs)
        if mode is not None and self._rule_of_class(type(mode)):
            args = lifted_outside(mode, args)
            with _pop_mode_temporarily() as tracer:
                args = self.closed(tracer, *args)
        return super().dispatch(args, kwargs)


class ClosedGraph:
    """The graph of a function that takes all it needs as operands."""

    def __init__(self, module):
        self.module = module

    def __call__(self, *operands):
        return self.module(*operands)

    def examples(self):
        """What looks like the results: fake tensors, and numbers themselves."""
        output = next(node for node in self.module.graph.nodes if node.op == "output")
        leaves = tree_leaves(output.args[0])
        return [leaf.meta["val"] if hasattr(leaf, "meta") else leaf for leaf in leaves]


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


def record(tracer, op, graphs, make_args, result):
    """A node of the operator, whose arguments `make_args` makes of the nodes of its graphs."""
    nodes = [tracer.add_submodule(prefix, graph.module) for prefix, graph in graphs]
    tracer.call(op, make_args(*nodes), {}, result)
    return result


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
