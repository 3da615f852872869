"""PyTorch's path of marks on tensors and numbers (`taeda.fx.symbolic`) and on functions."""

from taeda.compiler import _disallow_in_graph as disallow_in_graph
from taeda.compiler import allow_in_graph, assume_constant_result, disable, graph_break, set_stance
from taeda.fx.symbolic.marks import mark_dynamic, mark_static, mark_unbacked, maybe_mark_dynamic
from taeda.fx.symbolic.numbers import override_optimization_hint

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "disable",
    "disallow_in_graph",
    "graph_break",
    "mark_dynamic",
    "mark_static",
    "mark_unbacked",
    "maybe_mark_dynamic",
    "override_optimization_hint",
    "set_stance",
]
