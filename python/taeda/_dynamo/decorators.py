"""PyTorch's path of marks on tensors and numbers, which are in `taeda.fx.symbolic`."""

from taeda.fx.symbolic.marks import mark_dynamic, mark_static, mark_unbacked, maybe_mark_dynamic
from taeda.fx.symbolic.numbers import override_optimization_hint

__all__ = [
    "mark_dynamic",
    "mark_static",
    "mark_unbacked",
    "maybe_mark_dynamic",
    "override_optimization_hint",
]
