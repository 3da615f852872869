"""PyTorch's path of marks on tensors and functions; `taeda.fx.symbolic.marks`, `taeda.compiler`."""

from taeda._dynamo import decorators, exc, source, utils
from taeda.compiler import disable, is_compiling, reset
from taeda.fx.symbolic.marks import mark_dynamic, mark_static, mark_unbacked, maybe_mark_dynamic
from taeda.fx.symbolic.numbers import override_optimization_hint

__all__ = [
    "decorators",
    "disable",
    "exc",
    "is_compiling",
    "mark_dynamic",
    "mark_static",
    "mark_unbacked",
    "maybe_mark_dynamic",
    "override_optimization_hint",
    "reset",
    "source",
    "utils",
]
