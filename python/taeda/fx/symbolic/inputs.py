"""How the numbers of a program's inputs are treated: dynamic or not, within which bounds."""

from dataclasses import dataclass, field
from enum import Enum

from taeda.fx.symbolic.numbers import int_oo


class DimDynamic(Enum):
    """How a dimension of an input is treated."""

    DYNAMIC = 0  # a symbol of its own
    DUCK = 1  # a symbol shared with equal sizes
    STATIC = 2  # a constant
    UNBACKED = 3  # a symbol without a hint
    INFER_STRIDE = 4  # an expression of the sizes


@dataclass(frozen=True)
class ValueRanges:
    """An interval; bounds of `int_oo` are infinite."""

    lower: object = -int_oo
    upper: object = int_oo

    def __contains__(self, value):
        return self.lower <= value <= self.upper

    def is_singleton(self):
        """Whether one value is left."""
        return self.lower == self.upper

    def __repr__(self):
        ends = [
            str(b).replace("inf", "int_oo") if isinstance(b, float) else str(b)
            for b in (self.lower, self.upper)
        ]
        return f"VR[{ends[0]}, {ends[1]}]"

    def _bounds(self):
        return tuple(
            None if b in (None, int_oo, -int_oo) else int(b) for b in (self.lower, self.upper)
        )


@dataclass(frozen=True)
class RelaxedUnspecConstraint:
    """The dimension must not become a constant."""

    warn_only: bool = False

    def _encoded(self):
        return "relaxed"


@dataclass(frozen=True)
class StrictMinMaxConstraint:
    """Every value of the range must pass the guards."""

    vr: ValueRanges
    warn_only: bool = False

    def _encoded(self):
        return self.vr._bounds()


class SymbolicContext:
    """How the numbers of an input are treated."""


@dataclass(frozen=True)
class StatelessSymbolicContext(SymbolicContext):
    """How each dimension of a tensor is treated."""

    dynamic_sizes: list
    constraint_sizes: list = None
    dynamic_strides: list = None
    constraint_strides: list = None


@dataclass(frozen=True)
class StatefulSymbolicContext(StatelessSymbolicContext):
    """The same for a tensor that is seen again."""

    tensor_source: object = None
    shape_env_to_source_to_symbol_cache: dict = field(default_factory=dict)
