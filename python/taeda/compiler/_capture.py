"""What the capture of frames asks of Python: fake modes, and errors by which data decides."""

import gc
import itertools
import types
import warnings

from taeda import _C
from taeda.compiler import _known_calls
from taeda.fx.fake.tensors import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
    UnsupportedFakeTensorException,
)
from taeda.fx.symbolic.shape_env import ShapeEnv
from taeda.utils._config_module import compiler_config
from taeda.utils._config_module import dynamo_config as config

__all__ = [
    "DATA_DEPENDENT",
    "CapturedGraph",
    "add_hook",
    "advance",
    "apply_function",
    "caller_of",
    "constant_numbers",
    "initialize_module",
    "is_interruption",
    "make_body",
    "make_exception",
    "make_fake_mode",
    "on_plain_tensors",
    "remove_hook",
    "replays_writes",
    "rewrites_assertions",
    "with_bodies",
]

DATA_DEPENDENT = (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedFakeTensorException,
    _C._fx.GuardOnDataDependentSymNode,
)


def _changing_sources():
    """What `taeda.compiler.config.dynamic_sources` says of a source, as a function of its text:
    a tuple of dimensions, True for all, or None. None without names.

    A name is the text of a source, or a pattern that such texts begin with; `:n` behind it is a
    dimension.
    """
    names = [name for name in compiler_config.dynamic_sources.replace(" ", "").split(",") if name]
    if not names:
        return None
    import re

    parts = [re.fullmatch(r"(.+?)(?::(\d+))?", name).groups() for name in names]

    def changes(text):
        told = [dim for name, dim in parts if name == text or re.match(name, text)]
        return True if None in told else tuple(map(int, told)) or None

    return changes


def rewrites_assertions():
    """Whether assertions of tensors are checks of the graph."""
    return config.rewrite_assert_with_torch_assert


def _named_logs():
    """What calls do that settings name, by function or method."""
    kinds = dict.fromkeys(config.reorderable_logging_functions, _known_calls.REORDERED)
    # A warning is told behind the graph by itself, with the line that it is about.
    kinds.pop(warnings.warn, None)
    return kinds | dict.fromkeys(config.ignore_logging_functions, _known_calls.IGNORED)


def make_fake_mode(is_whole=False):
    """The mode of a graph that is captured; whether the graph may hold numbers from data; which
    sources have sizes and numbers that are symbols, and what calls do that log, as settings say.

    Functions may read such numbers inside; what they give to the program is a break without it.
    Where the program is to be one graph there is no other way.
    """
    takes_sizes = is_whole or config.capture_dynamic_output_shape_ops
    env = ShapeEnv(allow_scalar_outputs=True, allow_dynamic_output_shape_ops=takes_sizes)
    mode = FakeTensorMode(shape_env=env, allow_non_fake_inputs=True)
    takes_numbers = takes_sizes or config.capture_scalar_outputs
    return mode, takes_numbers, _changing_sources(), _named_logs()


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


def constant_numbers():
    """Whether ints, and floats, are constants of graphs though they change."""
    return bool(config.specialize_int), bool(config.specialize_float)


class CapturedGraph:
    """What a capture gives to be compiled: a graph, and as attributes the functions which it gives
    to its calls.

    Plans are made of it in C++; the classes of Python for graphs are loaded for those who look.
    """

    def __init__(self, bare, bodies, needs_objects=False):
        self._bare = bare
        self._bodies = bodies
        self._needs_objects = needs_objects
        self._module = None

    def __getattr__(self, name):
        if self._bodies is None or name not in self._bodies:
            raise AttributeError(f"the graph has no function {name}")
        return self._bodies[name]

    @property
    def num_calls(self):
        return _C._fx.count_calls(self._bare)

    @property
    def graph(self):
        """The graph for Python."""
        return _C._fx.full_graph(self._bare)

    @property
    def module(self):
        """The same as a GraphModule."""
        if self._module is None:
            from taeda.fx.graph_module import GraphModule

            self._module = GraphModule(with_bodies(self.graph, self._bodies), self.graph)
            if self._needs_objects:
                self._module.meta["needs_objects"] = True
        return self._module


def with_bodies(graph, bodies):
    """A module that has the functions which a graph gives to its calls, and nothing else."""
    from taeda.nn import Module

    root = Module()
    names = {node.target for node in graph.nodes if node.op == "get_attr"}
    for name in sorted(names):
        setattr(root, name, bodies[name])
    return root


def _do_the_same(one, other):
    """Whether two graphs hold the same calls on their inputs."""
    from taeda.fx.node import map_arg

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
    from taeda.compiler._body import Body

    for name, module in bodies.items():
        if name.startswith("body_") and _do_the_same(graph, module.graph):
            return module
    return Body(with_bodies(graph, bodies), graph)


def add_hook(tensor, body, taken, place):
    """register_hook of a function that was captured as a body, as a node of a graph.

    The gradient is its argument `place`, or none where that is -1.
    """

    def hook(grad):
        given = [grad if i == place else value for i, value in enumerate(taken)]
        return next(iter(body(*given)), None)

    return tensor.register_hook(hook)


def remove_hook(handle):
    """The remove of a handle, as a call of the graph or behind it."""
    handle.remove()


def initialize_module(module, args, kwargs):
    """The parameters of a lazy module, from tensors and numbers of a capture."""
    from taeda.utils._pytree import tree_map

    args, kwargs = tree_map(_as_known, (args, kwargs))
    module._infer_parameters(module, args, kwargs)


def _as_known(value):
    """A tensor of the sizes that it has in this call, the number that a symbol is in it."""
    if isinstance(value, _C.Tensor):
        return value.new_empty([_as_known(size) for size in value.shape])
    is_symbol = isinstance(value, (_C.SymInt, _C.SymFloat, _C.SymBool))
    return value.node.hint if is_symbol else value


def apply_function(function, *args):
    """The call of an autograd Function, as a node of a graph."""
    return function.apply(*args)


def bind_by_position(kind, /, *args, **kwargs):
    """The arguments of a Function's apply as a tuple; None where some have no position."""
    from taeda.autograd.function import Function, _bind_arguments

    has_setup = kind.setup_context is not Function.setup_context
    args, kwargs = _bind_arguments(kind.forward, has_setup, args, kwargs)
    return None if kwargs else tuple(args)


def on_plain_tensors(function):
    """The function of a graph that holds what classes of tensors do: it does not ask them again."""

    def run(*args):
        with _C.DisableTorchFunctionSubclass():
            return function(*args)

    return run


def make_dict_iterator(of, name, count, is_reversed):
    """An iterator of a dict that gave so many of its items already."""
    view = getattr(of, name)()
    made = reversed(view) if is_reversed else iter(view)
    for _ in range(count):
        next(made, None)
    return made


def make_set_iterator(of, count):
    """The same of a set."""
    made = iter(of)
    advance(made, count)
    return made


def advance(iterator, count):
    """Takes so many items from an iterator, or what is left of them."""
    for _ in range(count):
        next(iterator, None)


def caller_of(function):
    """A function of Python that calls another, whatever that is."""
    return lambda *args, **kwargs: function(*args, **kwargs)


def is_interruption(error):
    """Whether an exception is a signal's: what its handler raised."""
    if isinstance(error, KeyboardInterrupt):
        return True
    import signal

    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    codes = {getattr(handler, "__code__", None) for handler in handlers}
    at = error.__traceback__
    while at is not None and at.tb_frame.f_code not in codes:
        at = at.tb_next
    return at is not None


def call_of_generator(generator):
    """The function, arguments and named arguments that make a generator anew whose body did not
    begin; None for others."""
    if generator.gi_running or generator.gi_suspended or generator.gi_frame is None:
        return None
    code, values = generator.gi_code, generator.gi_frame.f_locals
    is_own = (o for o in gc.get_referents(generator) if isinstance(o, types.FunctionType))
    function = next((f for f in is_own if f.__code__ is code), None)
    if function is None:
        return None
    names = iter(code.co_varnames)
    args = [values[name] for name in itertools.islice(names, code.co_argcount)]
    kwargs = {name: values[name] for name in itertools.islice(names, code.co_kwonlyargcount)}
    has_args, has_kwargs = code.co_flags & 0x4, code.co_flags & 0x8
    if has_args:
        args += values[next(names)]
    if has_kwargs:
        kwargs |= values[next(names)]
    return function, tuple(args), kwargs


def make_call(function, args, kwargs):
    return function(*args, **kwargs)


def unbegun_generator(function):
    """One whose variables are somebody else's to fill."""
    code = function.__code__
    names = code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
    return function(*[None] * code.co_argcount, **dict.fromkeys(names))


def ended_generator(code):
    cells = tuple(types.CellType() for _ in code.co_freevars)
    generator = unbegun_generator(types.FunctionType(code, {}, code.co_name, None, cells))
    generator.close()
    return generator


def make_exception(kind, args, attributes):
    """An exception as a program made it; `__init__` of its class ran at capture."""
    made = kind.__new__(kind, *args)
    made.args = args
    vars(made).update(attributes)
    return made
