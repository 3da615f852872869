"""Forward, or forward and backward, of a program as one graph."""

import taeda
from taeda.fx.aot.export import check_looks, check_random_state, check_written, looks_of
from taeda.fx.aot.functions import Compiled, compiler_options
from taeda.fx.graph import _PyTreeCodeGen, _PyTreeInfo
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
    """The graph of a function of flat arguments, which takes them one by one.

    With `trace_joint`, and an argument that requires a gradient, it is a graph of two lists, of the
    arguments and of tangents, and gives the results and the gradients: one for each argument, None
    where there is none.
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
    if made.partition_report is not None:
        _take_lists(made.graph, len(leaves), made.gradients)
    root = taeda.nn.Module()
    return GraphModule(root, made.graph)


def _take_lists(graph, num_inputs, gradients):
    """PyTorch's way to call a joint graph: (primals, tangents) -> (results, gradients)."""
    output = graph.output_node()
    values = list(output.args[0])
    results = values[: len(values) - len(gradients)]
    given = dict(zip(gradients, values[len(results) :], strict=True))
    output.args = ([*results, *(given.get(i) for i in range(num_inputs))],)
    num_tangents = len(graph.find_nodes(op="placeholder")) - num_inputs
    in_spec = pytree.tree_structure(([0] * num_inputs, [0] * num_tangents))
    out_spec = pytree.tree_structure(((0,) * len(results), (0,) * num_inputs))
    graph.set_codegen(_PyTreeCodeGen(_PyTreeInfo(["primals", "tangents"], in_spec, out_spec)))


def _versions(values):
    return [v._version if isinstance(v, taeda.Tensor) else None for v in values]
