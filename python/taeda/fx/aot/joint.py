"""Forward, or forward and backward, of a program as one graph."""

import taeda
from taeda.fx.aot.export import check_looks, check_random_state, check_written, looks_of
from taeda.fx.aot.functions import Compiled, compiler_options
from taeda.fx.graph_module import GraphModule
from taeda.utils import _pytree as pytree

__all__ = ["aot_export_joint_simple"]


def _not_run(gm, _):
    def run(*_):
        raise AssertionError("an exported graph was run by its trace")

    return run


def _check_flat(args, what):
    spec = pytree.tree_structure(args)
    if spec.is_leaf():
        raise RuntimeError(
            f"aot_export_joint_simple requires {what} to be a single list/tuple. "
            f"{what[:-4]}_spec={spec}"
        )
    if not all(child.is_leaf() for child in spec.children()):
        raise RuntimeError(
            f"aot_export_joint_simple requires individual {what} not to be pytrees. "
            f"{what[:-4]}_spec={spec}"
        )


def aot_export_joint_simple(func, args, *, trace_joint, num_params_buffers=0, decompositions=None):
    """The graph of a function of flat arguments; with `trace_joint` its gradients are results too.

    The function writes to no input, and its results share memory with nothing.
    """
    check_random_state()
    _check_flat(args, "inputs")
    leaves = list(args)

    def program(values):
        looks, versions = looks_of(values), _versions(values)
        results = func(*values)
        check_looks(values, looks)
        written = [i for i, v in enumerate(_versions(values)) if v != versions[i]]
        check_written(leaves, written, trace_joint)
        if written:
            raise RuntimeError(
                "aot_export_joint_simple does not support input mutations. "
                f"ViewAndMutationMeta(mutated_inp_indices={written})"
            )
        _check_flat(results, "outputs")
        return pytree.tree_leaves(results)

    compilers = compiler_options(_not_run, decompositions=decompositions)
    with taeda.set_grad_enabled(trace_joint):
        made = Compiled(program, leaves, compilers).compiled
    if made.epilogue is not None:
        raise RuntimeError(
            "aot_export_joint_simple does not support outputs that alias inputs, or each other."
        )
    if trace_joint and made.partition_report is None:
        raise RuntimeError("Expect 1 output, but got none that requires gradients")
    root = taeda.nn.Module()
    return GraphModule(root, made.graph)


def _versions(values):
    return [v._version if isinstance(v, taeda.Tensor) else None for v in values]
