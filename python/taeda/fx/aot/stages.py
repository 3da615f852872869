"""The two halves of a compilation, one after the other: the trace, then what compilers make of it.

Between them the graph may be looked at and changed, as long as it takes and gives the same.
"""

import dataclasses
import types

import taeda
from taeda import _C
from taeda.compiler._counters import counters
from taeda.func.modules import functional_call
from taeda.fx.aot.descriptors import BufferAOTInput, ParamAOTInput, PlainAOTInput
from taeda.fx.aot.functions import (
    Compiled,
    _fake_mode_for,
    _graph_module,
    compiler_options,
    make_boxed_func,
    trace_options,
)
from taeda.fx.aot.partitioners import default_partition
from taeda.fx.control_flow._regions import with_regions
from taeda.fx.fake.tensors import FakeTensor
from taeda.utils import _pytree as pytree

__all__ = [
    "AOTConfig",
    "AOTGraphCapture",
    "AOTState",
    "JointWithDescriptors",
    "aot_compile_joint_with_descriptors",
    "aot_export_joint_with_descriptors",
    "aot_stage1_graph_capture",
    "aot_stage2_compile",
    "construct_fake_mode",
    "create_aot_state",
    "create_tree_flattened_fn",
    "process_inputs",
]


@dataclasses.dataclass
class AOTConfig:
    """Settings of a compilation by PyTorch's names; compilers are given to the second stage."""

    fw_compiler: object
    bw_compiler: object
    partition_fn: object
    decompositions: dict | None
    num_params_buffers: int
    aot_id: int
    keep_inference_input_mutations: bool
    inference_compiler: object = None
    enable_log: bool = True


@dataclasses.dataclass
class AOTState:
    """A function of flat arguments that is to be compiled."""

    needs_autograd: bool
    flat_args: list
    flat_args_descs: list
    fw_metadata: types.SimpleNamespace
    aot_config: AOTConfig
    fake_mode: object


class AOTGraphCapture(Compiled):
    """The traced function. Where inputs have gradients, the graph is a joint one."""

    def __init__(self, function, leaves, decompositions):
        program, inputs, settings = self._prepared(function, leaves, False)
        options = {**settings, **trace_options(decompositions)}
        counters["aot_autograd"]["total"] += 1
        self.traced = _C._aot.trace(program, inputs, options)
        self.graph_module = _graph_module(self.traced.graph, self.traced.constants)

    def compile(self, options):
        """Makes calls possible."""
        graph = with_regions(self.graph_module)
        self.compiled = _C._aot.compile_traced(self.traced, graph, options)
        counters["aot_autograd"]["ok"] += 1


# ---- what comes before ----


class _Spec:
    """A TreeSpec that is known once the function ran."""

    spec = None

    def unflatten(self, leaves):
        return pytree.tree_unflatten(leaves, self.spec)


def create_tree_flattened_fn(fn, args, kwargs=None):
    """The function of the leaves of its arguments, and the structure of its results."""
    in_spec = pytree.tree_structure((args, kwargs or {}))
    out_spec = _Spec()

    def flat_fn(*leaves):
        own_args, own_kwargs = pytree.tree_unflatten(list(leaves), in_spec)
        results, out_spec.spec = pytree.tree_flatten(fn(*own_args, **own_kwargs))
        return results

    return flat_fn, out_spec


def construct_fake_mode(flat_args, aot_config):
    """The mode of the arguments, or a new one, and its environment of symbols."""
    mode = _fake_mode_for(flat_args, False)
    return mode, mode.shape_env


def process_inputs(flat_args, aot_config, fake_mode, shape_env, ignore_shape_env=False):
    """The arguments as fake tensors; and which are collectives under way: none."""

    def fake(leaf):
        is_real = isinstance(leaf, taeda.Tensor) and not isinstance(leaf, FakeTensor)
        return fake_mode.from_tensor(leaf) if is_real else leaf

    return [fake(leaf) for leaf in flat_args], []


def create_aot_state(
    stack, flat_fn, fake_flat_args, flat_args_descs, aot_config, fake_mode, shape_env
):
    """What the stages know of a function. Nothing is entered on the stack."""
    needs_autograd = taeda.is_grad_enabled() and any(
        isinstance(leaf, taeda.Tensor) and leaf.requires_grad for leaf in fake_flat_args
    )
    metadata = types.SimpleNamespace(num_inputs=len(fake_flat_args), act_input_indices=[])
    return AOTState(
        needs_autograd, fake_flat_args, flat_args_descs, metadata, aot_config, fake_mode
    )


# ---- stages ----


def aot_stage1_graph_capture(aot_state, orig_flat_fn):
    """Traces the function; placeholders of the graph have their descriptors in meta["desc"]."""

    def function(leaves):
        return list(orig_flat_fn(*leaves))

    config = aot_state.aot_config
    made = AOTGraphCapture(function, aot_state.flat_args, config.decompositions)
    aot_state.fw_metadata.mutated_inp_runtime_indices = made.traced.written
    inputs = [d for d, is_input in zip(aot_state.flat_args_descs, made._is_input) if is_input]
    for node, desc in zip(made.graph_module.graph.find_nodes(op="placeholder"), inputs):
        node.meta["desc"] = desc
    return made


def aot_stage2_compile(
    aot_state,
    aot_graph_capture,
    partition_fn,
    fw_compiler,
    bw_compiler=None,
    inference_compiler=None,
):
    """A function of the list of arguments, and what the stages know of the program."""
    config = aot_state.aot_config
    options = compiler_options(
        fw_compiler,
        bw_compiler,
        inference_compiler,
        partition_fn,
        config.decompositions,
        config.keep_inference_input_mutations,
    )
    aot_graph_capture.compile(options)

    def compiled(leaves):
        return aot_graph_capture(leaves)

    compiled._boxed_call = True
    return compiled, aot_state.fw_metadata


# ---- modules ----


@dataclasses.dataclass
class JointWithDescriptors:
    """A traced module: its graph, and the order of what the compiled function takes."""

    _aot_state: AOTState
    _aot_graph_capture: AOTGraphCapture
    params_spec: list
    buffers_spec: list
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec

    @property
    def graph_module(self):
        return self._aot_graph_capture.graph_module

    @graph_module.setter
    def graph_module(self, value):
        self._aot_graph_capture.graph_module = value

    @property
    def fake_mode(self):
        return self._aot_state.fake_mode


def aot_export_joint_with_descriptors(
    stack, mod, args, kwargs=None, *, decompositions=None, keep_inference_input_mutations=False
):
    """Traces a module. Inputs of the graph are parameters, buffers and the arguments' leaves.

    stack: a contextlib.ExitStack, for which nothing has to be kept here.
    """
    params, buffers = dict(mod.named_parameters()), dict(mod.named_buffers())
    names = [*params, *buffers]

    def call(*leaves):
        own = dict(zip(names, leaves))
        own_args, own_kwargs = pytree.tree_unflatten(list(leaves[len(names) :]), in_spec)
        results, out_spec.spec = pytree.tree_flatten(
            functional_call(mod, own, own_args, own_kwargs)
        )
        return results

    given, in_spec = pytree.tree_flatten((tuple(args), kwargs or {}))
    leaves, out_spec = [*params.values(), *buffers.values(), *given], _Spec()
    descs = [
        *(ParamAOTInput(name) for name in params),
        *(BufferAOTInput(name) for name in buffers),
        *(PlainAOTInput(i) for i in range(len(given))),
    ]
    config = AOTConfig(
        None, None, None, decompositions, len(names), 0, keep_inference_input_mutations
    )
    mode, env = construct_fake_mode(leaves, config)
    fakes, _ = process_inputs(leaves, config, mode, env)
    state = create_aot_state(stack, call, fakes, descs, config, mode, env)
    capture = aot_stage1_graph_capture(state, call)
    return JointWithDescriptors(state, capture, list(params), list(buffers), in_spec, out_spec.spec)


def _nop(gm, _):
    return make_boxed_func(gm.forward)


def aot_compile_joint_with_descriptors(
    jd, *, partition_fn=default_partition, fw_compiler=_nop, bw_compiler=_nop
):
    """The traced module as a function of its parameters, its buffers and its arguments."""
    compiled, _ = aot_stage2_compile(
        jd._aot_state, jd._aot_graph_capture, partition_fn, fw_compiler, bw_compiler
    )

    def function(*args, **kwargs):
        leaves = pytree.tree_leaves((args, kwargs))
        return pytree.tree_unflatten(compiled(leaves), jd.out_spec)

    return function
