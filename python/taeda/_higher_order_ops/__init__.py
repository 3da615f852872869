"""Control flow as operators: a branch, loops and scans that a tracer records as one call each."""

import taeda._higher_order_ops._scan_autograd
import taeda._higher_order_ops._while_loop_autograd
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
