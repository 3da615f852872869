"""The operators that graphs are taken apart into, for compilers of one's own: PyTorch's path.

The compiler of this package decomposes in C++ while it traces. A table for it is an argument of
`compile_fx`.
"""

from types import MappingProxyType

from taeda._decomp import core_aten_decompositions

__all__ = ["decompositions", "select_decomp_table"]


def select_decomp_table():
    """{operator: function} down to core operators, as `decompositions` arguments take it."""
    return dict(core_aten_decompositions())


decompositions = MappingProxyType(select_decomp_table())
