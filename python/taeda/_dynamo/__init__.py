"""PyTorch's path of marks on tensors, which are in `taeda.fx.symbolic.marks`."""

from taeda.fx.symbolic.marks import mark_dynamic, mark_static, mark_unbacked, maybe_mark_dynamic

__all__ = ["mark_dynamic", "mark_static", "mark_unbacked", "maybe_mark_dynamic"]
