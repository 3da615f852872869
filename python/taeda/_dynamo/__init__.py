"""PyTorch's path of the capture of frames and of marks: `taeda.compiler`, `taeda.fx.symbolic`."""

from taeda._dynamo import backends, decorators, device_interface, exc, source, testing, utils
from taeda.compiler import (
    _disallow_in_graph as disallow_in_graph,
)
from taeda.compiler import (
    allow_in_graph,
    assume_constant_result,
    disable,
    graph_break,
    is_compiling,
    reset,
)
from taeda.compiler._backends import list_backends, lookup_backend, register_backend
from taeda.compiler._compile import OptimizedModule, optimize, optimize_assert
from taeda.compiler._explain import explain
from taeda.fx.symbolic.marks import mark_dynamic, mark_static, mark_unbacked, maybe_mark_dynamic
from taeda.fx.symbolic.numbers import override_optimization_hint
from taeda.utils._config_module import dynamo_config as config

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "backends",
    "config",
    "decorators",
    "device_interface",
    "disable",
    "disallow_in_graph",
    "exc",
    "explain",
    "graph_break",
    "is_compiling",
    "list_backends",
    "lookup_backend",
    "mark_dynamic",
    "mark_static",
    "mark_unbacked",
    "maybe_mark_dynamic",
    "optimize",
    "optimize_assert",
    "override_optimization_hint",
    "register_backend",
    "reset",
    "source",
    "testing",
    "utils",
]
