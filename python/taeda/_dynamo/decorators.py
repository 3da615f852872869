"""PyTorch's path of marks on tensors and numbers (`taeda.fx.symbolic`) and on functions."""

from taeda.compiler import graph_break
from taeda.compiler._marks import (
    allow_c_slot,
    allow_in_graph,
    assume_constant_result,
    disable,
    disable_nested_graph_breaks,
    disallow_in_graph,
    dont_skip_tracing,
    error_on_graph_break,
    forbid_in_graph,
    is_dynamo_disable_recursive,
    mark_static_address,
    nonstrict_trace,
    override_cudagraphs,
    patch_dynamo_config,
    run,
    skip,
    skip_frame,
    step_unsupported,
    substitute_in_graph,
)
from taeda.compiler._stance import set_stance
from taeda.fx.symbolic.marks import mark_dynamic, mark_static, mark_unbacked, maybe_mark_dynamic
from taeda.fx.symbolic.numbers import override_optimization_hint

__all__ = [
    "allow_c_slot",
    "allow_in_graph",
    "assume_constant_result",
    "disable",
    "disable_nested_graph_breaks",
    "disallow_in_graph",
    "dont_skip_tracing",
    "error_on_graph_break",
    "forbid_in_graph",
    "graph_break",
    "is_dynamo_disable_recursive",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "mark_unbacked",
    "maybe_mark_dynamic",
    "nonstrict_trace",
    "override_cudagraphs",
    "override_optimization_hint",
    "patch_dynamo_config",
    "run",
    "set_stance",
    "skip",
    "skip_frame",
    "step_unsupported",
    "substitute_in_graph",
]
