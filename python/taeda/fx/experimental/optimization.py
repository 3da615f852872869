"""PyTorch's path of passes for inference: `taeda.fx.passes.inference`."""

from taeda.fx.passes.inference import (
    FUSIONS,
    extract_subgraph,
    fuse,
    matches_module_pattern,
    remove_dropout,
    replace_node_module,
)

__all__ = [
    "FUSIONS",
    "extract_subgraph",
    "fuse",
    "matches_module_pattern",
    "remove_dropout",
    "replace_node_module",
]
