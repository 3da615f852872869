"""Decompositions by the operator's name, as PyTorch's module of this name has them."""

from taeda.fx.decompositions import (
    core_aten_decompositions,
    decomposition_table,
    get_decompositions,
    register_decomposition,
)

__all__ = [
    "core_aten_decompositions",
    "decomposition_table",
    "get_decompositions",
    "register_decomposition",
]


def __getattr__(name):
    """The decomposition of the operator's first overload that has one."""
    for op, fn in decomposition_table.items():
        if op._opname == name:
            return fn
    raise AttributeError(f"module 'taeda._decomp.decompositions' has no attribute '{name}'")
