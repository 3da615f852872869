"""PyTorch's path of backends that count: `taeda.compiler._testing`."""

from taeda._dynamo.utils import same
from taeda.compiler._testing import (
    CompileCounter,
    CompileCounterWithBackend,
    EagerAndRecordGraphs,
)

__all__ = ["CompileCounter", "CompileCounterWithBackend", "EagerAndRecordGraphs", "same"]
