"""How a dimension of an input is treated, in one word."""

from enum import Enum

__all__ = ["DimDynamic", "int_oo"]

int_oo = float("inf")


class DimDynamic(Enum):
    """How a dimension of an input is treated."""

    DYNAMIC = 0  # a symbol of its own
    DUCK = 1  # a symbol shared with equal sizes
    STATIC = 2  # a constant
    UNBACKED = 3  # a symbol without a hint
    INFER_STRIDE = 4  # an expression of the sizes
