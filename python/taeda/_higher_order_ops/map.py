"""PyTorch's path of map, which is in `taeda.fx.control_flow.slice_map`."""

from taeda.fx.control_flow.slice_map import map, map_impl

__all__ = ["map", "map_impl"]
