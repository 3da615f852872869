"""PyTorch's path of programs that are traced ahead of time: `taeda.fx.aot`."""

from taeda.fx.aot import (
    aot_export_joint_simple,
    aot_function,
    aot_module,
    aot_module_simplified,
    compiled_function,
    compiled_module,
    default_decompositions,
    default_partition,
    draw_graph_compile,
    get_aot_compilation_context,
    make_boxed_compiler,
    make_boxed_func,
    memory_efficient_fusion,
    min_cut_rematerialization_partition,
    nop,
    print_compile,
    ts_compile,
)
from taeda.fx.aot.compilers import draw_graph, nnc_jit
from taeda.fx.aot.functions import get_aot_graph_name, get_graph_being_compiled
from taeda.utils._config_module import functorch_config as config

__all__ = [
    "aot_export_joint_simple",
    "aot_function",
    "aot_module",
    "aot_module_simplified",
    "compiled_function",
    "compiled_module",
    "config",
    "default_decompositions",
    "default_partition",
    "draw_graph",
    "draw_graph_compile",
    "get_aot_compilation_context",
    "get_aot_graph_name",
    "get_graph_being_compiled",
    "make_boxed_compiler",
    "make_boxed_func",
    "memory_efficient_fusion",
    "min_cut_rematerialization_partition",
    "nnc_jit",
    "nop",
    "print_compile",
    "ts_compile",
]
