"""The compiler of graphs as a backend: of graphs that `taeda.compile` captured, and of others."""

from functools import partial

from taeda._ops import OpOverload
from taeda.utils._config_module import inductor_config as config

from . import before_gradients, compile, compile_open
from ._graph_passes import bound_passes, one_after_the_other

_OF_SIZES = ("_operator", "builtins", "math")

__all__ = ["compile_fx", "compile_fx_inner", "compile_parts"]


def _calls_operators(graph):
    """Whether every call is one of an operator, or arithmetic on sizes."""
    for node in graph.nodes:
        if node.op in ("call_module", "call_method"):
            return False
        is_function = node.op == "call_function" and not isinstance(node.target, OpOverload)
        if is_function and getattr(node.target, "__module__", "") not in _OF_SIZES:
            return False
    return True


# Whoever traces a program runs those that see all of it.
_WHOLE = ("pre_grad_custom_pass", "joint_custom_pre_pass", "joint_custom_post_pass")

_OF_PARTS = ("post_grad_custom_pre_pass", "post_grad_custom_post_pass")


def compile_fx_inner(gm, example_inputs, *, is_inference=False, **_):
    """Compiles a graph of operators, as ahead-of-time traces hand it to their compilers."""
    passes = {name: bound_passes(getattr(config, name), is_inference) for name in _OF_PARTS}
    with config.patch({**dict.fromkeys(_WHOLE), **passes}):
        return compile(gm, example_inputs)


def compile_fx(
    model_,
    example_inputs_,
    inner_compile=compile_fx_inner,
    config_patches=None,
    decompositions=None,
    ignore_shape_env=False,
    *,
    native=None,
    check=None,
):
    """Compiles a GraphModule for inputs like these: a function of the same inputs.

    The graph calls operators, or functions of Python on fake tensors, as a captured one does.
    Inputs that require gradients have them.

    inner_compile: compiles each graph of operators, the forward and the backward, in place of the
        compiler of this package; it is called with is_backward= and is_inference= as well.
    config_patches: settings of `taeda._inductor.config` while they are compiled.
    decompositions: {operator: function} run instead of the operator while the model is traced.
    """
    settings = {"native": native, "check": check}
    patches = {name: value for name, value in settings.items() if value is not None}
    patches |= config_patches or {}
    if inner_compile is compile_fx_inner and decompositions is None:
        make = compile if _calls_operators(model_.graph) else compile_open
        with config.patch(patches):
            return make(model_, example_inputs_)
    with config.patch(patches):
        model_ = before_gradients(model_, _calls_operators(model_.graph))
    return compile_parts(model_, example_inputs_, inner_compile, patches, decompositions)


def compile_parts(
    model, example_inputs, inner_compile=compile_fx_inner, patches=None, decompositions=None
):
    """Traces a model ahead of time and has its graphs compiled one by one.

    The joint graph is cut by `config.custom_partitioner_fn` where that is set.
    """
    from taeda.fx.aot import aot_module_simplified, min_cut_rematerialization_partition

    with config.patch(patches or {}):
        settings = config.get_config_copy()  # a backward is compiled when it first runs
    is_cut = False

    def run_passes(gm):
        passes = config.joint_custom_pre_pass, config.joint_custom_post_pass
        if run := one_after_the_other(*passes):
            run(gm.graph)
            gm.recompile()

    def partition(joint_module, joint_inputs, **arguments):
        nonlocal is_cut
        is_cut = True
        with config.patch(settings):
            run_passes(joint_module)
            cut = config.custom_partitioner_fn or min_cut_rematerialization_partition
        return cut(joint_module, joint_inputs, compiler="inductor", **arguments)

    def compile_part(gm, inputs, is_backward=False):
        with config.patch(settings):
            if not is_cut:
                run_passes(gm)
            return inner_compile(gm, inputs, is_backward=is_backward, is_inference=not is_cut)

    return aot_module_simplified(
        model,
        example_inputs,
        compile_part,
        partial(compile_part, is_backward=True),
        partition_fn=partition,
        decompositions=decompositions,
    )
