"""PyTorch's path of ready compilers of graphs: `taeda.fx.aot.compilers`."""

from taeda.fx.aot.compilers import (
    default_decompositions,
    draw_graph_compile,
    memory_efficient_fusion,
    nop,
    print_compile,
    ts_compile,
)
from taeda.fx.aot.functions import make_boxed_compiler, make_boxed_func

__all__ = [
    "default_decompositions",
    "draw_graph_compile",
    "make_boxed_compiler",
    "make_boxed_func",
    "memory_efficient_fusion",
    "nop",
    "print_compile",
    "ts_compile",
]
