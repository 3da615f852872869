"""DecompositionInterpreter: runs a graph of operators and records what a table makes of them."""

import taeda
from taeda.fx.interpreter import Interpreter
from taeda.fx.operator_trace import ProxyTorchDispatchMode, disable_proxy_modes_tracing

__all__ = ["DecompositionInterpreter"]


class DecompositionInterpreter(Interpreter):
    """Writes the operators of a run to `new_graph`, with functions in place of those in the table.

    new_graph = fx.Graph()
    DecompositionInterpreter(module, new_graph, {aten.silu.default: silu}).run(x)
    """

    def __init__(self, module, new_graph, decomposition_table=None, **kwargs):
        super().__init__(module, **kwargs)
        self.new_graph = new_graph
        self.decomposition_table = decomposition_table or {}
        self.mode = ProxyTorchDispatchMode(new_graph, decomposition_table=self.decomposition_table)

    def run(self, *args, **kwargs):
        with self.mode:
            return super().run(*args, **kwargs)

    def placeholder(self, target, args, kwargs):
        value = super().placeholder(target, args, kwargs)
        return self._known(value, target, self.mode.add_input, self.new_graph.placeholder)

    def get_attr(self, target, args, kwargs):
        value = super().get_attr(target, args, kwargs)
        return self._known(value, target, self.mode.add_attribute, self.new_graph.get_attr)

    def output(self, target, args, kwargs):
        value = super().output(target, args, kwargs)
        self.new_graph.output(self.mode.arg_tree(value))
        return value

    def _known(self, value, name, add_tensor, add_other):
        if isinstance(value, taeda.Tensor):
            with disable_proxy_modes_tracing():
                add_tensor(name, value)
        else:
            add_other(name)
        return value
