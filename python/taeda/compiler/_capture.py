"""What the capture of frames asks of Python: fake modes, and errors by which data decides."""

from taeda import _C
from taeda.fx.fake.tensors import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
    UnsupportedFakeTensorException,
)
from taeda.fx.symbolic.shape_env import ShapeEnv

__all__ = ["DATA_DEPENDENT", "make_fake_mode"]

DATA_DEPENDENT = (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedFakeTensorException,
    _C._fx.GuardOnDataDependentSymNode,
)


def make_fake_mode():
    """The mode of a graph that is captured: symbols for sizes, none for numbers from data."""
    env = ShapeEnv(allow_scalar_outputs=False, allow_dynamic_output_shape_ops=False)
    return FakeTensorMode(shape_env=env, allow_non_fake_inputs=True)
