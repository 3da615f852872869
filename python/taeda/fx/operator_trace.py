"""make_fx: a function's operators as a graph, traced below transforms and autograd.

    gm = make_fx(lambda x: taeda.func.grad(loss)(x))(example)
    print(gm.code)

The tracer and the run under it are C++ (`taeda/fx/tracer.h`, `taeda/fx/retrace.h`): a dispatch mode
that runs operators and writes them down. `tracing_mode` says what they run on: "real" the arguments
themselves, "fake" tensors without memory, "symbolic" tensors whose sizes are symbols. With
`pre_dispatch` the tracer stands before autograd, autocast and the bodies of composite operators.
"""

import contextlib
import inspect
import itertools
import sys

import taeda
from taeda._C import _fx
from taeda.fx._module_stack import ModuleStack, fill_module_stacks
from taeda.fx._user_frames import user_stack
from taeda.fx.fake.modes import unset_fake_temporarily
from taeda.fx.fake.tensors import FakeTensor, FakeTensorMode
from taeda.fx.graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from taeda.fx.graph_module import GraphModule
from taeda.utils import _pytree as pytree
from taeda.utils._python_dispatch import (
    TorchDispatchMode,
    _counted_as_entered,
    _disable_current_modes,
)

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
        # Holds what get_attr nodes name beside the tracer's own constants, such as subgraphs.
        self.root = taeda.nn.Module() if root is None else root
        self.use_table(decomposition_table or {})

    @contextlib.contextmanager
    def enable_decompositions(self, decomposition_table):
        """A scope in which these functions run in place of operators, and no others."""
        before = self.decomposition_table
        self.use_table(decomposition_table)
        try:
            yield
        finally:
            self.use_table(before)

    def use_table(self, functions):
        """Functions run in place of operators."""
        self.decomposition_table = functions
        self.set_decompositions(functions)

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
        tracer = ProxyTorchDispatchMode(Graph())
        tracer.decomposition_table = self.decomposition_table
        return _traced(f, args, tracer, outer=self)


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


def _traced(f, args, tracer, fake_mode=None, outer=None):
    """A GraphModule of what the tracer sees `f` do."""
    flat, in_spec = pytree.tree_flatten(args)
    names = _input_names(f, args)
    inputs = [_input(v, name, tracer.tracing_mode, fake_mode) for v, name in zip(flat, names)]
    out_spec = None

    def call(*values):
        nonlocal out_spec
        leaves, out_spec = pytree.tree_flatten(f(*pytree.tree_unflatten(values, in_spec)))
        return leaves

    options = {"tracer": tracer, "names": names, "fake_mode": fake_mode, "outer": outer}
    with _counted_as_entered():
        constants = _fx.trace(call, inputs, options)
    graph, root = tracer.graph, tracer.root
    _shape_results(f, graph, args, in_spec, out_spec)
    for name, value in constants.items():
        setattr(root, name, value)
    return GraphModule(root, graph, getattr(f, "__name__", type(f).__name__))


def _shape_results(f, graph, args, in_spec, out_spec):
    """Nests the results as the function does; the generated code does so for nested arguments."""
    output = graph.output_node()
    leaves = list(output.args[0])
    if all(spec.is_leaf() for spec in in_spec.children_specs):
        output.args = (pytree.tree_unflatten(leaves, out_spec),)
        return
    output.args = (leaves,)
    names = _parameter_names(f, len(args)) or [f"arg{i}" for i in range(len(args))]
    graph.set_codegen(_PyTreeCodeGen(_PyTreeInfo(names, in_spec, out_spec)))


def _fake_mode_for(values, tracing_mode, allow_non_fake_inputs):
    """That of the arguments, or a new one."""
    for value in pytree.tree_leaves(values):
        if isinstance(value, FakeTensor):
            return value.fake_mode
    from taeda.fx.symbolic.shape_env import ShapeEnv

    # Sizes that only a run can tell are symbols in either mode.
    return FakeTensorMode(
        allow_non_fake_inputs=allow_non_fake_inputs,
        shape_env=ShapeEnv(),
        static_shapes=tracing_mode == "fake",
    )


def _input(value, name, tracing_mode, fake_mode):
    """What the function gets for an argument."""
    if isinstance(value, taeda.Tensor) and fake_mode is not None:
        return fake_mode.from_tensor(value, source=name)
    if type(value) is int and tracing_mode == "symbolic":
        env = fake_mode.shape_env
        return env.create_symintnode(env.create_unspecified_symbol(value, name))
    return value


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
    module = getattr(f, "_orig_mod", f)  # the module that a function stands for
    has_stack = record_module_stack and isinstance(module, taeda.nn.Module)

    def traced(*args):
        tracer = ProxyTorchDispatchMode(
            Graph(),
            tracing_mode,
            pre_dispatch=pre_dispatch,
            decomposition_table=dict(decomposition_table or {}),
        )
        tracer.refuses_values = _error_on_data_dependent_ops
        fake_mode = None
        if tracing_mode != "real":
            fake_mode = _fake_mode_for(args, tracing_mode, _allow_non_fake_inputs)
        modules = ModuleStack(module) if has_stack else None
        if record_stack_traces or modules:
            tracer.set_node_callback(_Notes(record_stack_traces, modules))
        with modules.watching() if modules else contextlib.nullcontext():
            made = _traced(f, args, tracer, fake_mode)
        if modules:
            fill_module_stacks(made.graph)
        if fake_mode is not None:
            made.meta["fake_mode"] = fake_mode
            made.shape_env = fake_mode.shape_env
        return made

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
