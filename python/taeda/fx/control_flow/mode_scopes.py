"""Scopes of a thread's modes as operators: a function that runs under a grad mode or autocast.

Exported programs hold them where the traced code had `with no_grad():` or `with autocast(...):`.
They run what they hold, also while something is traced: a tracer sees what is inside.
"""

from taeda._higher_order_operator import HigherOrderOperator
from taeda.amp.autocast_mode import autocast
from taeda.autograd.grad_mode import set_grad_enabled

__all__ = ["wrap_with_autocast", "wrap_with_set_grad_enabled"]


class WrapWithSetGradEnabled(HigherOrderOperator):
    """`wrap_with_set_grad_enabled(enable_grad, wrapped_func, *args)`"""

    graph_names = ("submod",)

    def __init__(self):
        super().__init__("wrap_with_set_grad_enabled")

    def __call__(self, enable_grad, wrapped_func, *args):
        with set_grad_enabled(enable_grad):
            return wrapped_func(*args)


class WrapWithAutocast(HigherOrderOperator):
    """`wrap_with_autocast(device_type, dtype, enabled, cache_enabled, wrapped_func, *args)`"""

    graph_names = ("submod",)

    def __init__(self):
        super().__init__("wrap_with_autocast")

    def __call__(self, device_type, dtype, enabled, cache_enabled, wrapped_func, *args):
        with autocast(device_type, dtype, enabled, cache_enabled):
            return wrapped_func(*args)


wrap_with_set_grad_enabled = WrapWithSetGradEnabled()
wrap_with_autocast = WrapWithAutocast()
