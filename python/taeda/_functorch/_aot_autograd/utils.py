"""PyTorch's path of functions of flat arguments: `taeda.fx.aot.stages`."""

from taeda.fx.aot.stages import create_tree_flattened_fn

__all__ = ["create_tree_flattened_fn"]
