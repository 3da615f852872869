"""PyTorch's path of compiled modules and of what compiles them: `taeda.compiler`."""

from taeda.compiler._compile import OptimizeContext, optimize, optimize_assert
from taeda.compiler._explain import explain
from taeda.compiler._export import ExportResult, export
from taeda.compiler._marks import innermost_fn
from taeda.compiler._module import OptimizedModule
from taeda.compiler._stance import DynamoStance

__all__ = [
    "DynamoStance",
    "ExportResult",
    "OptimizeContext",
    "OptimizedModule",
    "explain",
    "export",
    "innermost_fn",
    "optimize",
    "optimize_assert",
]
