"""PyTorch's path of scopes as operators: `taeda.fx.control_flow.mode_scopes`."""

from taeda.fx.control_flow.mode_scopes import wrap_with_autocast, wrap_with_set_grad_enabled

__all__ = ["wrap_with_autocast", "wrap_with_set_grad_enabled"]
