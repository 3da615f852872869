"""Ready compilers of graphs: what `aot_function` is tried with."""

import copy
from pathlib import Path

import taeda
from taeda._decomp import get_decompositions
from taeda.fx.aot.functions import aot_function, aot_module, make_boxed_func
from taeda.fx.aot.partitioners import min_cut_rematerialization_partition
from taeda.fx.graph_module import GraphModule

__all__ = [
    "SerializableAOTDispatchCompiler",
    "compiled_function",
    "compiled_module",
    "default_decompositions",
    "draw_graph",
    "draw_graph_compile",
    "memory_efficient_fusion",
    "nnc_jit",
    "nop",
    "print_compile",
    "ts_compile",
]


class SerializableAOTDispatchCompiler:
    """A compiler that says of which class its results are."""

    def __init__(self, output_code_ty, compiler_fn):
        self.output_code_ty = output_code_ty
        self.compiler_fn = compiler_fn

    def __call__(self, gm, example_inputs):
        compiled = self.compiler_fn(gm, example_inputs)
        if not isinstance(compiled, self.output_code_ty):
            raise AssertionError(
                f"expected the compiler to give {self.output_code_ty}, got {type(compiled)}"
            )
        return compiled


def nop(fx_g, _):
    """Runs the graph as it is."""
    return make_boxed_func(fx_g.forward)


def print_compile(fx_g, _):
    """Prints the code of the graph and runs it as it is."""
    print(fx_g.code)
    return fx_g


def draw_graph(
    traced,
    fname,
    figname="fx_graph",
    clear_meta=True,
    prog=None,
    parse_stack_trace=False,
    dot_graph_shape=None,
):
    """Draws the graph into a file, whose ending says what it is: .svg where there is none.

    clear_meta: without what nodes know of their values. The layout and the shape of boxes are
    those of FxGraphDrawer.
    """
    from taeda.fx.passes.graph_drawer import FxGraphDrawer

    if prog is not None or dot_graph_shape is not None:
        raise NotImplementedError("pictures have one layout and one shape of boxes")
    if clear_meta:
        traced = GraphModule(traced, copy.deepcopy(traced.graph))
        for node in traced.graph.nodes:
            node.meta = {}
    drawer = FxGraphDrawer(traced, figname, parse_stack_trace=parse_stack_trace)
    path = Path(fname)
    drawer.get_dot_graph().write(path if path.suffix else path.with_suffix(".svg"))


def draw_graph_compile(name):
    """A compiler that draws the graph into a file and runs it as it is."""

    def compile_graph(fx_g, inputs):
        from taeda.fx.passes.graph_drawer import FxGraphDrawer

        drawer = FxGraphDrawer(fx_g, name)
        with open(f"{name}.dot", "w") as out:
            out.write(str(drawer.get_dot_graph()))
        return fx_g

    return compile_graph


def ts_compile(fx_g, inps):
    """The graph as fused kernels."""
    return make_boxed_func(taeda._inductor.compile(fx_g, inps))


def nnc_jit(f):
    """The function as fused kernels."""
    return aot_function(f, ts_compile)


compiled_function = aot_function
compiled_module = aot_module

default_decompositions = get_decompositions(
    [
        taeda.ops.aten.detach,
        taeda.ops.aten.gelu_backward,
        taeda.ops.aten.leaky_relu_backward,
        taeda.ops.aten.sigmoid_backward,
        taeda.ops.aten.threshold_backward,
        taeda.ops.aten.hardtanh_backward,
        taeda.ops.aten.silu_backward,
        taeda.ops.aten.elu_backward,
    ]
)


def memory_efficient_fusion(fn, **kwargs):
    """The function or module with little saved for its backward, as fused kernels."""
    config = {
        "fw_compiler": ts_compile,
        "bw_compiler": ts_compile,
        "partition_fn": min_cut_rematerialization_partition,
        **kwargs,
    }
    make = aot_module if isinstance(fn, taeda.nn.Module) else aot_function
    return make(fn, **config)
