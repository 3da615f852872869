"""Forward, or forward and backward, of a program as one graph."""

import taeda
from taeda.fx.aot.functions import Compiled, compiler_options
from taeda.fx.graph_module import GraphModule
from taeda.utils import _pytree as pytree

__all__ = ["aot_export_joint_simple"]


def _not_run(gm, _):
    def run(*_):
        raise AssertionError("an exported graph was run by its trace")

    return run


def aot_export_joint_simple(func, args, *, trace_joint, num_params_buffers=0, decompositions=None):
    """The graph of a function of flat arguments; with `trace_joint` its gradients are results too.

    The function writes to no input, and its results share memory with nothing.
    """
    compilers = compiler_options(_not_run, decompositions=decompositions)

    def program(values):
        return pytree.tree_leaves(func(*values))

    with taeda.set_grad_enabled(trace_joint):
        made = Compiled(program, list(args), compilers).compiled
    if made.epilogue is not None:
        raise RuntimeError(
            "aot_export_joint_simple does not support input mutations, nor results that alias "
            "inputs or each other"
        )
    if trace_joint and made.partition_report is None:
        raise RuntimeError("Expect 1 output, but got none that requires gradients")
    root = taeda.nn.Module()
    return GraphModule(root, made.graph)
