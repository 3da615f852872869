"""Programs traced ahead of time, with their gradients, and handed to compilers of graphs.

The trace, the cut of the joint graph and the calls are C++ (`taeda/aot`). A compiler is a function
that takes a GraphModule and example inputs and gives a function.
"""

from taeda.fx.aot.compilers import (
    compiled_function,
    compiled_module,
    default_decompositions,
    draw_graph_compile,
    memory_efficient_fusion,
    nop,
    print_compile,
    ts_compile,
)
from taeda.fx.aot.export import BackwardSignature, GraphSignature, aot_export_module
from taeda.fx.aot.functions import (
    aot_function,
    aot_module,
    aot_module_simplified,
    get_aot_compilation_context,
    make_boxed_compiler,
    make_boxed_func,
)
from taeda.fx.aot.joint import aot_export_joint_simple
from taeda.fx.aot.partitioners import default_partition, min_cut_rematerialization_partition

__all__ = [
    "BackwardSignature",
    "GraphSignature",
    "aot_export_joint_simple",
    "aot_export_module",
    "aot_function",
    "aot_module",
    "aot_module_simplified",
    "compiled_function",
    "compiled_module",
    "default_decompositions",
    "default_partition",
    "draw_graph_compile",
    "get_aot_compilation_context",
    "make_boxed_compiler",
    "make_boxed_func",
    "memory_efficient_fusion",
    "min_cut_rematerialization_partition",
    "nop",
    "print_compile",
    "ts_compile",
]
