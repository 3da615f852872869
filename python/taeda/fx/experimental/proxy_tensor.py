"""PyTorch's path of make_fx and its tracer, which are in `taeda.fx.operator_trace`."""

from taeda.fx.decomposition_interpreter import DecompositionInterpreter
from taeda.fx.operator_trace import (
    ProxyTorchDispatchMode,
    PythonKeyTracer,
    disable_proxy_modes_tracing,
    get_innermost_proxy_mode,
    get_isolated_graphmodule,
    get_proxy_mode,
    is_sym_node,
    make_fx,
    maybe_disable_fake_tensor_mode,
    py_sym_types,
    track_tensor_tree,
)

__all__ = [
    "DecompositionInterpreter",
    "ProxyTorchDispatchMode",
    "PythonKeyTracer",
    "disable_proxy_modes_tracing",
    "get_innermost_proxy_mode",
    "get_isolated_graphmodule",
    "get_proxy_mode",
    "is_sym_node",
    "make_fx",
    "maybe_disable_fake_tensor_mode",
    "py_sym_types",
    "track_tensor_tree",
]
