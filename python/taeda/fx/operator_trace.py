"""make_fx: a function's operators as a graph, traced below transforms and autograd.

    gm = make_fx(lambda x: taeda.func.grad(loss)(x))(example)
    print(gm.code)

The tracer is C++ (`taeda/fx/tracer.h`): a dispatch mode that runs operators and writes them down.
`tracing_mode` says what they run on: "real" the arguments themselves, "fake" tensors without
memory, "symbolic" tensors whose sizes are symbols. With `pre_dispatch` the tracer stands before
autograd, autocast and the bodies of composite operators.
"""

import contextlib
import dataclasses
import inspect
import itertools
import sys

import taeda
from taeda import _C
from taeda._C import _fx
from taeda.fx._module_stack import ModuleStack, fill_module_stacks
from taeda.fx._user_frames import user_stack
from taeda.fx.fake.modes import unset_fake_temporarily
from taeda.fx.fake.tensors import FakeTensor, FakeTensorMode
from taeda.fx.graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from taeda.fx.graph_module import GraphModule
from taeda.utils import _pytree as pytree
from taeda.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

__all__ = [
    "ProxyTorchDispatchMode",
    "PythonKeyTracer",
    "disable_proxy_modes_tracing",
    "get_innermost_proxy_mode",
    "get_isolated_graphmodule",
    "get_proxy_mode",
    "is_sym_node",
    "make_fx",
    "maybe_disable_fake_tensor_mode",
    "py_sym_types",
    "track_tensor_tree",
]

_MODES = ("real", "fake", "symbolic")


class PythonKeyTracer:
    """What a mode records into: a graph, and the module that holds what its nodes name."""

    def __init__(self):
        self.graph = Graph()
        self.root = taeda.nn.Module()


class ProxyTorchDispatchMode(_fx.Tracer, TorchDispatchMode):
    """Records operators into a graph, or that of a PythonKeyTracer, while it is active."""

    supports_higher_order_operators = True

    def __new__(cls, tracer, *args, **kwargs):
        return super().__new__(cls, getattr(tracer, "graph", tracer))

    def __init__(
        self, tracer, tracing_mode="real", root=None, pre_dispatch=False, decomposition_table=None
    ):
        root = getattr(tracer, "root", root)
        self.tracing_mode = tracing_mode
        self.pre_dispatch = pre_dispatch
        # Whether modes that the program sets are part of the graph, for a tracer before autograd.
        self.records_modes = pre_dispatch
        # Of the traces of functions inside.
        self._settings = _Settings({}, True, pre_dispatch=pre_dispatch)
        # Holds what get_attr nodes name beside the tracer's own constants, such as subgraphs.
        self.root = taeda.nn.Module() if root is None else root
        self.on_node = None
        # The shape environment whose statements the graph asserts.
        self.asserted = None
        self.decomposition_table = {}
        if decomposition_table is not None:
            self.use_table(decomposition_table)

    @contextlib.contextmanager
    def enable_decompositions(self, decomposition_table):
        """A scope in which these functions run in place of operators, and no others."""
        before = self.decomposition_table
        self.use_table(decomposition_table, self._settings.opened)
        try:
            yield
        finally:
            self.use_table(before, self._settings.opened)

    def set_node_callback(self, function):
        """The function is called with each new node of an operator, its metadata set."""
        self.on_node = function
        super().set_node_callback(function)

    def use_table(self, functions, opened=()):
        """Functions run in place of operators; those `opened` are recorded by their parts."""
        self._settings = dataclasses.replace(
            self._settings, decompositions=functions, opened=tuple(opened)
        )
        self.decomposition_table = functions
        self.set_decompositions(functions)
        self.set_opened(opened)

    @classmethod
    def is_infra_mode(cls):
        return True

    def add_submodule(self, prefix, module):
        """Puts a module under the next free name and gives the get_attr node that reads it."""
        for i in itertools.count():
            name = f"{prefix}_{i}"
            if not hasattr(self.root, name):
                setattr(self.root, name, module)
                return self.graph.create_node("get_attr", name)

    def name_region(self, op, number, region):
        """The node that reads a region of control flow."""
        return self.add_submodule(op.graph_names[number], region.module)

    def arg_tree(self, tree):
        """The tree with tensors and symbolic numbers replaced by what stands for them."""
        return pytree.tree_map(self._arg, tree)

    def _arg(self, leaf):
        is_traced = isinstance(leaf, (taeda.Tensor, taeda.SymInt, taeda.SymFloat, taeda.SymBool))
        return self.arg_of(leaf) if is_traced else leaf

    def example(self, tensor):
        """A fake tensor like this one, for the metadata of a node."""
        if isinstance(tensor, FakeTensor):
            return tensor.detach()
        return FakeTensorMode().from_tensor(tensor.detach())

    def trace_subgraph(self, f, *args):
        """A GraphModule of `f` on traced arguments, with the settings of this trace."""
        trace = _Trace(f, "real", self._settings, self.on_node)
        # Grad modes are not part of such a graph, and casts are.
        trace.tracer.records_modes = False
        trace.tracer.below_autocast = self.pre_dispatch
        if self.asserted is None:
            return trace.trace(args)
        # What a function states holds where it runs, and nowhere else.
        self.write_asserts()
        trace.tracer.write_asserts_of(self.asserted)
        module = trace.trace(args)
        self.write_asserts_of(self.asserted)
        return module

    def write_asserts_of(self, env):
        """From now on the graph asserts what is stated in the environment."""
        self.asserted = env
        super().write_asserts_of(env)

    def note_mode_call(self, name, *args):
        """Writes down that a mode of the thread was set: `taeda._C._set_grad_enabled(False)`."""
        self.note_call(getattr(_C, name), args)

    def note_call(self, target, args):
        """A node for a call that gives no tensor; None where the graph has no modes."""
        if not self.records_modes:
            return None
        node = self.graph.create_node("call_function", target, args)
        node.meta["val"] = None
        if self.on_node is not None:
            self.on_node(node)
        return node


def track_tensor_tree(inner_res, proxy_res, *, constant=None, tracer):
    """Tensors of a result, nested in tuples and lists, stand for parts of a node from now on."""
    tracer.track(inner_res, proxy_res)
    return inner_res


def get_proxy_mode():
    """The tracer that is active on this thread, or None."""
    return _fx.active_tracer()


get_innermost_proxy_mode = get_proxy_mode

py_sym_types = (taeda.SymInt, taeda.SymFloat, taeda.SymBool)


def is_sym_node(node):
    """Whether a node of a graph computes a symbolic number."""
    if "val" not in node.meta:
        raise AssertionError("Should not be called on nodes without proxy metadata")
    return isinstance(node.meta["val"], py_sym_types)


@contextlib.contextmanager
def disable_proxy_modes_tracing():
    """A scope in which operators are not recorded; other modes stay."""
    with _disable_current_modes() as modes:
        others = [m for m in reversed(modes) if not isinstance(m, ProxyTorchDispatchMode)]
        with contextlib.ExitStack() as stack:
            for mode in others:
                stack.enter_context(mode)
            yield


@contextlib.contextmanager
def maybe_disable_fake_tensor_mode():
    """A scope without the active fake mode."""
    with unset_fake_temporarily() as mode:
        yield mode


@dataclasses.dataclass
class _Settings:
    """How functions are traced."""

    decompositions: dict
    allow_non_fake_inputs: bool
    pre_dispatch: bool = False
    records_modules: bool = False
    records_stacks: bool = False
    opened: tuple = ()
    refuses_values: bool = True


class _Trace:
    """One call of make_fx: inputs, the run, the graph."""

    def __init__(self, f, tracing_mode, settings, on_node=None):
        self.f = f
        self.tracing_mode = tracing_mode
        self.allow_non_fake_inputs = settings.allow_non_fake_inputs
        self.graph = Graph()
        self.tracer = ProxyTorchDispatchMode(
            self.graph, tracing_mode, pre_dispatch=settings.pre_dispatch
        )
        self.tracer._settings = settings
        self.tracer.refuses_values = settings.refuses_values
        self.tracer.use_table(settings.decompositions, settings.opened)
        self.modules = None
        module = getattr(f, "_orig_mod", f)  # the module that a function stands for
        if settings.records_modules and isinstance(module, taeda.nn.Module):
            self.modules = ModuleStack(module)
        if on_node is not None:
            self.tracer.set_node_callback(on_node)
        elif settings.records_stacks or self.modules:
            self.tracer.set_node_callback(_Notes(settings.records_stacks, self.modules))
        self.fake_mode = None

    def trace(self, args):
        flat, in_spec = pytree.tree_flatten(args)
        if self.tracing_mode != "real":
            self.fake_mode = self._fake_mode(flat)
        names = _input_names(self.f, args)
        inputs = [self._input(value, name) for value, name in zip(flat, names)]
        with contextlib.ExitStack() as modes:
            if self.fake_mode is not None:
                modes.enter_context(self.fake_mode)
            if self.modules is not None:
                modes.enter_context(self.modules.watching())
            modes.enter_context(self.tracer)
            result = self.f(*pytree.tree_unflatten(inputs, in_spec))
        self.tracer.write_asserts()
        return self._module(args, in_spec, result)

    def _fake_mode(self, flat):
        for value in flat:
            if isinstance(value, FakeTensor):
                return value.fake_mode
        from taeda.fx.symbolic.shape_env import ShapeEnv

        # Sizes that only a run can tell are symbols in either mode.
        return FakeTensorMode(
            allow_non_fake_inputs=self.allow_non_fake_inputs,
            shape_env=ShapeEnv(),
            static_shapes=self.tracing_mode == "fake",
        )

    def _input(self, value, name):
        if isinstance(value, taeda.Tensor) and self.fake_mode is not None:
            value = self.fake_mode.from_tensor(value, source=name)
        elif type(value) is int and self.tracing_mode == "symbolic":
            env = self.fake_mode.shape_env
            value = env.create_symintnode(env.create_unspecified_symbol(value, name))
        elif not isinstance(value, (taeda.Tensor, taeda.SymInt)):
            self.graph.create_node("placeholder", name, name=name)
            return value
        self.tracer.add_input(name, value)
        return value

    def _module(self, args, in_spec, result):
        is_flat = all(spec.is_leaf() for spec in in_spec.children_specs)
        if is_flat:
            returned = self.tracer.arg_tree(result)
        else:
            flat, out_spec = pytree.tree_flatten(result)
            returned = [self.tracer._arg(leaf) for leaf in flat]
            names = [f"arg{i}" for i in range(len(args))]
            names = _parameter_names(self.f, len(args)) or names
            self.graph.set_codegen(_PyTreeCodeGen(_PyTreeInfo(names, in_spec, out_spec)))
        self.graph.create_node("output", "output", (returned,))
        if self.modules is not None:
            fill_module_stacks(self.graph)
        root = self.tracer.root
        for name, value in self.tracer.constants.items():
            setattr(root, name, value)
        name = getattr(self.f, "__name__", type(self.f).__name__)
        module = GraphModule(root, self.graph, name)
        if self.fake_mode is not None:
            module.meta["fake_mode"] = self.fake_mode
            module.shape_env = self.fake_mode.shape_env
        return module


class _Notes:
    """Gives new nodes the stack of the user's code and the modules that are running."""

    def __init__(self, has_stacks, modules):
        self.has_stacks = has_stacks
        self.modules = modules

    def __call__(self, node):
        if self.has_stacks:
            node.meta["stack_trace"] = user_stack(sys._getframe())
        if self.modules is not None:
            node.meta["nn_module_stack"] = self.modules.now()


def _parameter_names(f, count):
    """Names of the positional parameters that take the arguments; None where they have none."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return None
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [p.name for p in parameters if p.kind in kinds]
    return names[:count] if len(names) >= count else None


def _input_names(f, args):
    """One name for each leaf of the arguments: parameter and number, `x_1`."""
    bases = _parameter_names(f, len(args)) or [f"arg{i}" for i in range(len(args))]
    names = []
    for base, value in zip(bases, args):
        leaves = len(pytree.tree_flatten(value)[0])
        names += [f"{base}_{i + 1}" for i in range(leaves)]
    return names


def make_fx(
    f,
    decomposition_table=None,
    tracing_mode="real",
    _allow_non_fake_inputs=False,
    *,
    pre_dispatch=False,
    record_module_stack=False,
    record_stack_traces=False,
    _error_on_data_dependent_ops=True,
):
    """A function that traces `f` on its arguments and gives a GraphModule.

    decomposition_table: {operator: function} run instead of the operator while tracing.
    tracing_mode: "real", "fake" or "symbolic".
    pre_dispatch: operators are recorded as they are called, before autograd, autocast and the
        bodies of composite operators; so are changes of the grad mode and autocast regions.
    record_module_stack: nodes of a module get the modules around them as meta["nn_module_stack"].
    record_stack_traces: nodes get the user's stack as meta["stack_trace"].
    _error_on_data_dependent_ops: False lets the program read values of the example.
    """
    if tracing_mode not in _MODES:
        raise AssertionError(f"tracing_mode must be real/fake/symbolic, got {tracing_mode}")
    settings = _Settings(
        dict(decomposition_table or {}),
        _allow_non_fake_inputs,
        pre_dispatch,
        record_module_stack,
        record_stack_traces,
        refuses_values=_error_on_data_dependent_ops,
    )

    def traced(*args):
        return _Trace(f, tracing_mode, settings).trace(args)

    traced.__name__ = getattr(f, "__name__", "traced")
    return traced


def get_isolated_graphmodule(func, args, kwargs, tracing_mode="real", decomposition_table=None):
    """The graph of a function's call, made beside a trace that is going on."""
    flat, spec = pytree.tree_flatten((args, kwargs))

    def call(*leaves):
        own_args, own_kwargs = pytree.tree_unflatten(leaves, spec)
        return func(*own_args, **own_kwargs)

    with disable_proxy_modes_tracing():
        return make_fx(call, decomposition_table, tracing_mode)(*flat)
