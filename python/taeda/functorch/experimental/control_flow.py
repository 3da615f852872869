"""PyTorch's older path of control flow, which is in `taeda.fx.control_flow`."""

from taeda._higher_order_ops.cond import cond
from taeda._higher_order_ops.map import map, map_impl

__all__ = ["cond", "map", "map_impl"]
