"""PyTorch's path of control flow as operators, which is in `taeda.fx.control_flow`.

Modules of the same names as functions are loaded here, so that the names stay the functions'.
"""

from taeda._higher_order_ops.associative_scan import associative_scan
from taeda._higher_order_ops.cond import cond
from taeda._higher_order_ops.map import map
from taeda._higher_order_ops.scan import scan
from taeda._higher_order_ops.while_loop import while_loop
from taeda._higher_order_ops.wrap import wrap_with_autocast, wrap_with_set_grad_enabled

__all__ = [
    "associative_scan",
    "cond",
    "map",
    "scan",
    "while_loop",
    "wrap_with_autocast",
    "wrap_with_set_grad_enabled",
]
