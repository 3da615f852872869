"""Modules as graphs of values, forward alone or with the gradients of a loss, and what the graphs'
inputs and outputs stand for.
"""

import dataclasses

import taeda
from taeda._C import _fx
from taeda.func.modules import functional_call
from taeda.fx.aot.functions import _fake_mode_for
from taeda.fx.control_flow._regions import with_submodules
from taeda.fx.fake.modes import detect_fake_mode
from taeda.fx.fake.tensors import FakeTensor
from taeda.fx.graph import Graph
from taeda.fx.graph_module import GraphModule
from taeda.utils import _pytree as pytree
from taeda.utils._config_module import functorch_config

__all__ = ["BackwardSignature", "GraphSignature", "aot_export_module"]


@dataclasses.dataclass
class BackwardSignature:
    """The gradients of a joint graph, by the names of the nodes that compute them."""

    gradients_to_parameters: dict
    gradients_to_user_inputs: dict
    # The result of the graph at the index of the loss, as PyTorch has it: where the module writes
    # to buffers, their new values stand before the loss.
    loss_output: str


@dataclasses.dataclass
class GraphSignature:
    """The meaning of a graph's inputs and outputs, by the names of nodes.

    Inputs are parameters, buffers and the caller's; outputs the new values of what the module
    writes to, its results, gradients.
    """

    parameters: list
    buffers: list
    user_inputs: list
    user_outputs: list
    inputs_to_parameters: dict
    inputs_to_buffers: dict
    buffers_to_mutate: dict
    parameters_to_mutate: dict
    user_inputs_to_mutate: dict
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec
    backward_signature: BackwardSignature | None
    input_tokens: list = dataclasses.field(default_factory=list)
    output_tokens: list = dataclasses.field(default_factory=list)


# ---- refusals ----

_BANNED = (
    "This is currently banned in the aot_export workflow. If you need this functionality, please "
    "file a github issue."
)


def check_random_state():
    """RuntimeError where random numbers are to be inputs of the graph."""
    if functorch_config.functionalize_rng_ops:
        raise RuntimeError(
            "Functionalized RNG is not currently supported in the aot_export workflow. Please file "
            "a github issue,\nor otherwise set torch._functorch.config.functionalize_rng_ops = "
            "False."
        )


def check_looks(values, before):
    """RuntimeError where a program changed sizes or strides of its inputs."""
    if looks_of(values) != before:
        raise RuntimeError(
            "Found an input that received a metadata mutation, through e.g. a call to `.resize_()` "
            f"or `.transpose_()`.\n{_BANNED}"
        )


def looks_of(values):
    """Sizes and strides of tensors."""
    return [
        (v.shape, v.stride(), v.storage_offset()) if isinstance(v, taeda.Tensor) else None
        for v in values
    ]


def check_written(leaves, written, trace_joint):
    """RuntimeError for writes that a caller could not repeat."""
    if trace_joint and any(leaves[i].requires_grad for i in written):
        raise RuntimeError(
            f"Found a graph input that requires gradients, and received a mutation.\n{_BANNED}"
        )
    tensors = [(i, leaf) for i, leaf in enumerate(leaves) if isinstance(leaf, taeda.Tensor)]
    for i in written:
        shared = [leaf for j, leaf in tensors if j != i and _shares(leaf, leaves[i])]
        if shared:
            kind = "duplicated" if any(leaf is leaves[i] for leaf in shared) else "aliased"
            raise RuntimeError(
                f"Encountered {kind} inputs that are mutated in the graph you are trying to "
                "export.\nThis functionality is currently not supported. If needed, please file a "
                "github issue."
            )


def _shares(a, b):
    return a is b or a.untyped_storage()._cdata == b.untyped_storage()._cdata


def _check_loss(results, index):
    """The results as a tuple, of which the loss alone requires gradients."""
    if index is None:
        raise RuntimeError(
            "If trace_joint=Trueit is required that one of your forward outputs must be a scalar "
            "loss.\nYou must specify the which (index) output is the loss with output_loss_index."
        )
    results = (results,) if isinstance(results, taeda.Tensor) else results
    if not isinstance(results, (tuple, list)):
        raise RuntimeError(
            "Expected forward output to be either a tensor or a list/tuple of tensors. found "
            f"{type(results)}"
        )
    for i, result in enumerate(results):
        if result.requires_grad and i != index:
            raise RuntimeError(
                "Found an output of the forward that requires gradients, that was not the scalar "
                "loss.\nWe require all outputs to the forward that are not the scalar loss to not "
                "require gradient,\nbecause we will only compute a backward graph against the "
                "scalar loss.\nYou can fix this by calling .detach() on each of your forward "
                "outputs that is not the loss.\n"
                f"You specified that output index {index} is the loss, but we found that\n"
                f"the output at index {i} requires gradients."
            )
    loss = results[index]
    if not loss.requires_grad:
        raise RuntimeError(
            f"The output at index {index} was marked as the loss, but it does not require gradients"
        )
    if loss.numel() != 1:
        raise RuntimeError(
            f"We require the output marked as the loss (at index {index}) to be a scalar, but it "
            f"has shape {loss.shape}"
        )
    return results


# ---- the trace ----


def _without_tangent(graph, loss, num_inputs):
    """Puts a gradient of one in the place of the loss's tangent."""
    (tangent,) = graph.find_nodes(op="placeholder")[num_inputs:]
    with graph.inserting_after(loss):
        one = graph.call_function(
            taeda.ops.aten.ones_like.default,
            (loss,),
            {"pin_memory": False, "memory_format": taeda.preserve_format},
        )
    one.meta["val"] = tangent.meta["val"]
    tangent.replace_all_uses_with(one)
    graph.erase_node(tangent)


def _is_dynamic(mod, leaves, dynamic_shapes):
    if dynamic_shapes is not None:
        return dynamic_shapes
    mode = detect_fake_mode(leaves)
    if mode is None and isinstance(mod, GraphModule):
        values = [node.meta["val"] for node in mod.graph.nodes if "val" in node.meta]
        mode = detect_fake_mode(values)
    return mode is not None and mode.shape_env is not None


def _inputs_as_symbols(leaves, mode, num_state):
    """Fakes of the caller's tensors with symbols for sizes."""
    fakes = []
    for i, leaf in enumerate(leaves):
        is_own = isinstance(leaf, taeda.Tensor) and not isinstance(leaf, FakeTensor)
        is_symbolic = is_own and i >= num_state and not mode.static_shapes
        fakes.append(mode.from_tensor(leaf, source=f"L['arg{i}']") if is_symbolic else None)
    return fakes


class _Trace:
    """One module traced as a function of flat inputs: parameters, buffers, the caller's."""

    def __init__(self, mod, args, kwargs, output_loss_index):
        self.mod, self.loss_index = mod, output_loss_index
        self.parameters = dict(mod.named_parameters(remove_duplicate=False))
        self.buffers = dict(mod.named_buffers(remove_duplicate=False))
        self.state = {**self.parameters, **self.buffers}
        full = (*self.state.values(), *args)
        self.leaves, self.in_spec = pytree.tree_flatten((full, kwargs))
        self.out_spec = None

    def program(self, trace_joint):
        """The module as a function of a list."""

        def run(values):
            before = looks_of(values)
            full, kwargs = pytree.tree_unflatten(values, self.in_spec)
            state = dict(zip(self.state, full))
            results = functional_call(self.mod, state, tuple(full[len(state) :]), kwargs)
            if trace_joint:
                results = _check_loss(results, self.loss_index)
            check_looks(values, before)
            leaves, self.out_spec = pytree.tree_flatten(results)
            return leaves

        return run


def aot_export_module(
    mod,
    args,
    *,
    decompositions=None,
    trace_joint,
    output_loss_index=None,
    pre_dispatch=False,
    dynamic_shapes=None,
    kwargs=None,
):
    """A module as a graph of values, and its GraphSignature.

    The graph takes parameters, buffers and the leaves of the arguments. It writes to nothing: it
    gives the new values of what the module writes to, then the leaves of the results.

    trace_joint: the graph also gives gradients of a scalar loss, the result at `output_loss_index`,
    for each input that requires them; no other result may.
    pre_dispatch: the graph holds what the module calls, before autograd takes it apart.
    dynamic_shapes: whether sizes of the arguments are symbols; None: as the inputs have them.
    """
    if pre_dispatch and trace_joint:
        raise RuntimeError("pre_dispatch is not supported when trace_joint is True.")
    check_random_state()
    traced = _Trace(mod, args, kwargs or {}, output_loss_index)
    leaves = traced.leaves
    mode = _fake_mode_for(leaves, _is_dynamic(mod, leaves, dynamic_shapes))
    options = {
        "functionalizes": True,
        "differentiates": trace_joint,
        "is_before_autograd": pre_dispatch,
        "fake_mode": mode,
        "fakes": _inputs_as_symbols(leaves, mode, len(traced.state)),
        "decompositions": decompositions,
        "names": [f"arg{i}_1" for i in range(len(leaves))],
    }
    with taeda.set_grad_enabled(taeda.is_grad_enabled() if pre_dispatch else trace_joint):
        graph, constants, written, tangents, gradients = _fx.trace_program(
            traced.program(trace_joint), leaves, options
        )
    check_written(leaves, written, trace_joint)
    if trace_joint:
        _finish_joint(graph, traced, tangents, gradients)
    _drop_dead_code(graph)
    root = with_submodules(graph)
    for name, value in constants.items():
        setattr(root, name, value)
    signature = _signature(graph, traced, written, gradients if trace_joint else None)
    return GraphModule(root, graph, "<lambda>"), signature


def _drop_dead_code(graph):
    """Removes what nothing needs, in regions too."""
    graph.eliminate_dead_code()
    for node in graph.nodes:
        for arg in node.args:
            if isinstance(arg, Graph):
                _drop_dead_code(arg)


def _finish_joint(graph, traced, tangents, gradients):
    results = graph.output_node().args[0]
    (loss,) = (results[i] for i in tangents)
    _without_tangent(graph, loss, len(traced.leaves))
    given = results[len(results) - len(gradients) :]
    if any(g is None for g in given):
        raise AssertionError(
            "Found a parameter that did not receive a gradient.\n"
            '"This is most likely a bug, but if this needs to be supported please comment on this '
            "Github issue:\nhttps://github.com/pytorch/pytorch/issues/101192\n"
        )


def _signature(graph, traced, written, gradients):
    inputs = [node.name for node in graph.find_nodes(op="placeholder")]
    outputs = [getattr(arg, "name", None) for arg in graph.output_node().args[0]]
    parameters, buffers = list(traced.parameters), list(traced.buffers)
    state = [*parameters, *buffers]
    num_gradients = len(gradients or ())
    new_values = dict(zip(outputs, written))

    def by_kind(first, last, names):
        return {out: names[i] for out, i in new_values.items() if first <= i < last}

    backward = None
    if gradients is not None:
        names = dict(zip(outputs[len(outputs) - num_gradients :], gradients))
        backward = BackwardSignature(
            {out: state[i] for out, i in names.items() if i < len(state)},
            {out: inputs[i] for out, i in names.items() if i >= len(state)},
            outputs[traced.loss_index],
        )
    return GraphSignature(
        parameters=parameters,
        buffers=buffers,
        user_inputs=inputs[len(state) :],
        user_outputs=outputs[len(written) : len(outputs) - num_gradients],
        inputs_to_parameters=dict(zip(inputs, parameters)),
        inputs_to_buffers=dict(zip(inputs[len(parameters) :], buffers)),
        buffers_to_mutate=by_kind(len(parameters), len(state), state),
        parameters_to_mutate=by_kind(0, len(parameters), state),
        user_inputs_to_mutate=by_kind(len(state), len(inputs), inputs),
        in_spec=traced.in_spec,
        out_spec=traced.out_spec,
        backward_signature=backward,
    )
