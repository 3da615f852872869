"""What the capture of frames asks of Python: fake modes, and errors by which data decides."""

import functools
import re
import warnings

from taeda import _C
from taeda.autograd import Function
from taeda.fx.fake.tensors import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
    UnsupportedFakeTensorException,
)
from taeda.fx.graph_module import GraphModule
from taeda.fx.node import map_arg
from taeda.fx.symbolic.shape_env import ShapeEnv
from taeda.nn import Module
from taeda.utils._config_module import compiler_config
from taeda.utils._config_module import dynamo_config as config

__all__ = [
    "DATA_DEPENDENT",
    "add_hook",
    "apply_function",
    "make_body",
    "make_exception",
    "make_fake_mode",
    "make_partial",
    "on_plain_tensors",
    "on_their_data",
    "replays_writes",
    "with_bodies",
    "with_data",
]

DATA_DEPENDENT = (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedFakeTensorException,
    _C._fx.GuardOnDataDependentSymNode,
)


def _changing_sources():
    """A pattern of what `taeda.compiler.config.dynamic_sources` names; None without names.

    A name is the text of a source or a pattern of such texts.
    """
    names = [name.strip() for name in compiler_config.dynamic_sources.split(",")]
    parts = [part for name in names if name for part in (re.escape(name), name)]
    return re.compile("|".join(f"(?:{part})" for part in parts)) if parts else None


def make_fake_mode():
    """The mode of a graph that is captured; whether the graph may hold numbers from data; a pattern
    of the sources whose sizes and numbers are symbols.

    Functions may read such numbers inside; what they give to the program is a break without it.
    """
    env = ShapeEnv(
        allow_scalar_outputs=True,
        allow_dynamic_output_shape_ops=config.capture_dynamic_output_shape_ops,
    )
    mode = FakeTensorMode(shape_env=env, allow_non_fake_inputs=True)
    takes_numbers = config.capture_scalar_outputs or config.capture_dynamic_output_shape_ops
    return mode, takes_numbers, _changing_sources()


def replays_writes(sources):
    """Whether a program's writes to its objects are done when the compiled region runs."""
    if config.side_effect_replay_policy in ("warn", "error"):
        text = (
            "While compiling, we found certain side effects happened in the model.forward. Here "
            f"are the list of potential sources you can double check: {sources}"
        )
        if config.side_effect_replay_policy == "error":
            raise RuntimeError(text)
        warnings.warn(text, stacklevel=2)
    return config.replay_side_effects


def with_bodies(graph, bodies):
    """A module that has the functions which a graph gives to its calls, and nothing else."""
    root = Module()
    names = {node.target for node in graph.nodes if node.op == "get_attr"}
    for name in sorted(names):
        root.add_module(name, bodies[name])
    return root


def _do_the_same(one, other):
    """Whether two graphs hold the same calls on their inputs."""
    if len(one.nodes) != len(other.nodes):
        return False
    node_of = {}
    for a, b in zip(one.nodes, other.nodes, strict=True):
        node_of[a] = b
        is_input = a.op == "placeholder"
        if a.op != b.op or (not is_input and a.target is not b.target and a.target != b.target):
            return False
        args, kwargs = map_arg((a.args, a.kwargs), node_of.__getitem__)
        if is_input and _kind(a) != _kind(b):
            return False
        if not is_input and not (_are_equal(args, b.args) and _are_equal(kwargs, b.kwargs)):
            return False
    return True


def _kind(node):
    """What is known of an input."""
    value = node.meta.get("val")
    if not isinstance(value, _C.Tensor):
        return str(value)
    return value.dtype, value.device, [str(size) for size in value.shape]


def _are_equal(a, b):
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(_are_equal, a, b))
    if isinstance(a, dict):
        return type(a) is type(b) and list(a) == list(b) and all(_are_equal(a[k], b[k]) for k in a)
    return a is b or (type(a) is type(b) and not isinstance(a, _C.Tensor) and repr(a) == repr(b))


def make_body(graph, bodies):
    """A function of tensors that was captured, as a module; an equal one that is there already."""
    for module in bodies.values():
        if _do_the_same(graph, module.graph):
            return module
    return GraphModule(with_bodies(graph, bodies), graph)


def add_hook(tensor, body, taken, place):
    """register_hook of a function that was captured as a body, as a node of a graph.

    The gradient is its argument `place`, or none where that is -1.
    """

    def hook(grad):
        given = [grad if i == place else value for i, value in enumerate(taken)]
        return next(iter(body(*given)), None)

    tensor.register_hook(hook)


def apply_function(function, *args):
    """The call of an autograd Function, as a node of a graph."""
    return function.apply(*args)


class _WithData(Function):
    @staticmethod
    def forward(ctx, tensor, data):
        return data.view_as(data)

    @staticmethod
    def backward(ctx, grad):
        return grad, None


def with_data(tensor, data):
    """A tensor whose data was set, as a node of a graph: its gradient is the tensor's own."""
    return _WithData.apply(tensor, data)


def on_their_data(function, places):
    """The function of a graph some of whose inputs have other data before its gradients run.

    What is kept for the gradients is what the tensors at these places hold now.
    """

    def run(*args):
        args = list(args)
        for i in places:
            data = args[i].detach()
            args[i] = with_data(args[i], data) if args[i].requires_grad else data
        return function(*args)

    return run


def on_plain_tensors(function):
    """The function of a graph that holds what classes of tensors do: it does not ask them again."""

    def run(*args):
        with _C.DisableTorchFunctionSubclass():
            return function(*args)

    return run


def make_partial(function, args, keywords):
    return functools.partial(function, *args, **keywords)


def make_dict_iterator(of, name, count):
    """An iterator of a dict that gave so many of its items already."""
    made = iter(getattr(of, name)())
    for _ in range(count):
        next(made, None)
    return made


def make_exception(kind, args, attributes):
    """An exception as a program made it; `__init__` of its class ran at capture."""
    made = kind.__new__(kind, *args)
    made.args = args
    vars(made).update(attributes)
    return made
