"""What a shape environment tells of itself."""

from dataclasses import dataclass

from taeda._C._fx import Expr

__all__ = ["RuntimeAssert", "ShapeEnvSettings", "ShapeGuard"]


@dataclass(frozen=True)
class ShapeEnvSettings:
    """What an environment was made with: how it treats the numbers of inputs and of data."""

    allow_scalar_outputs: bool
    allow_dynamic_output_shape_ops: bool
    assume_static_by_default: bool
    specialize_zero_one: bool
    duck_shape: bool


@dataclass(frozen=True)
class ShapeGuard:
    """A condition the program was specialized on, and where."""

    expr: Expr
    stack: str


@dataclass(frozen=True)
class RuntimeAssert:
    """A condition on unbacked symbols that is checked when the program runs."""

    expr: Expr
    msg: str
    stack: str
