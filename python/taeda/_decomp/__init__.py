"""PyTorch's path of decompositions, which are in `taeda.fx.decompositions`."""

from taeda.fx.decompositions import (
    core_aten_decompositions,
    decomposition_table,
    get_decompositions,
    global_decomposition_table,
    register_decomposition,
    remove_decompositions,
)

__all__ = [
    "core_aten_decompositions",
    "decomposition_table",
    "get_decompositions",
    "global_decomposition_table",
    "register_decomposition",
    "remove_decompositions",
]
