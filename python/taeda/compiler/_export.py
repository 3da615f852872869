"""taeda._dynamo.export: the graph of a function with its own arguments, and the guards on it."""

import functools
import inspect
import typing

import taeda
from taeda.compiler import _log_calls
from taeda.compiler._marks import innermost_fn
from taeda.compiler._module import OptimizedModule
from taeda.compiler._module_state import Attributes
from taeda.compiler._whole_graph import capture_whole
from taeda.fx.graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from taeda.fx.graph_module import GraphModule
from taeda.utils import _pytree as pytree
from taeda.utils._config_module import dynamo_config as config

__all__ = ["ExportResult", "export", "strict_module"]


class ExportResult(typing.NamedTuple):
    """The graph module of a function, and what it assumes."""

    graph_module: GraphModule
    guards: list


def _argument_names(function, args, kwargs):
    """A name for each argument of the call, as the function spells it where it does."""
    target = function.forward if isinstance(function, taeda.nn.Module) else function
    try:
        parameters = inspect.signature(target).parameters.values()
    except ValueError:
        parameters = ()
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [p.name for p in parameters if p.kind in places][: len(args)]
    names += [f"args_{i}" for i in range(len(names), len(args))]
    return [*names, *kwargs]


class _Rewriting:
    """Turns a captured graph into one of the call's flat arguments and results."""

    def __init__(self, whole, module):
        self.whole, self.module = whole, module
        self.graph, self.root = Graph(), taeda.nn.Module()
        self.arguments = [
            self.graph.placeholder(f"arg{i}") for i in range(whole.in_spec.num_leaves)
        ]
        self.attributes = {}
        self.names = {}  # of the module's state, by the names in the graph

    def attribute(self, tensor, name=None):
        """A node for a tensor that is no argument: state of the module, or a constant."""
        if id(tensor) not in self.attributes:
            if name is None:
                own = f"_tensor_constant{len(self.attributes)}"
            else:
                own = self.flat_name_of(name)
                self.names[own] = name
            setter = "parameter" if isinstance(tensor, taeda.nn.Parameter) else "buffer"
            getattr(self.root, f"register_{setter}")(own, tensor)
            self.attributes[id(tensor)] = self.graph.get_attr(own)
        return self.attributes[id(tensor)]

    def flat_name_of(self, name):
        """The graph module has no submodules: a name for state of the module's submodules."""
        flat = "L__self___" + name.replace(".", "_")
        while flat in self.names:
            flat += "_"
        return flat

    def node_of(self, place, outputs):
        """The node, or constant, at a place."""
        if place.kind == "argument":
            return self.arguments[place.value]
        if place.kind == "output":
            return outputs[place.value]
        if place.kind == "state":
            return self.attribute(_attribute(self.module, place.value), place.value)
        return self.attribute(place.value) if place.kind == "tensor" else place.value

    def finish(self, names):
        """The module."""
        outputs, old = (), self.whole.module
        if old is not None:
            for name, child in old.named_children():
                self.root.add_module(name, child)
            values = [self.node_of(place, ()) for place in self.whole.inputs]
            env = dict(zip(old.graph.find_nodes(op="placeholder"), values, strict=True))
            for node in old.graph.nodes:
                if node.op == "output":
                    outputs = [env.get(v, v) for v in pytree.tree_leaves(node.args[0])]
                elif node.op != "placeholder":
                    env[node] = self.graph.node_copy(node, env.__getitem__)
        self.graph.output([self.node_of(place, outputs) for place in self.whole.results])
        self.graph.eliminate_dead_code(is_impure_node=lambda node: node.op != "get_attr")
        spec = self.whole.in_spec
        self.graph.set_codegen(_PyTreeCodeGen(_PyTreeInfo(names, spec, self.whole.out_spec)))
        made = GraphModule(self.root, self.graph)
        made.meta["dynamo_flat_name_to_original_fqn"] = self.names
        return made

    def keep_attributes(self, leaves):
        """Notes what the program hung on the tensors that the graph reads."""
        for node, leaf in zip(self.arguments, leaves, strict=True):
            if node.users and isinstance(leaf, taeda.Tensor):
                node.meta["tensor_dict"] = dict(leaf.__dict__)


def _attribute(module, name):
    return functools.reduce(getattr, name.split("."), module)


def _as_operators(gm, args, kwargs, mode, pre_dispatch, decompositions):
    """The same module as a graph of operators."""
    from taeda.fx.experimental.proxy_tensor import make_fx

    flat = pytree.tree_leaves((args, kwargs))
    codegen = gm.graph._codegen

    def run(*values):
        outputs = taeda.fx.Interpreter(gm).run(*values, enable_io_processing=False)
        return list(outputs)

    traced = make_fx(
        run,
        decomposition_table=decompositions,
        tracing_mode=mode,
        pre_dispatch=pre_dispatch,
        _allow_non_fake_inputs=True,
    )(*flat)
    traced.graph.set_codegen(codegen)
    traced.recompile()
    return traced


def export(
    f,
    *extra_args,
    aten_graph=False,
    pre_dispatch=False,
    decomposition_table=None,
    tracing_mode="symbolic",
    dynamic_shapes=None,
    specialize_float=True,
    assume_static_by_default=False,
    same_signature=True,
    disable_constraint_solver=False,
    prefer_deferred_runtime_asserts_over_guards=False,
    **extra_kwargs,
):
    """export(f)(*args): the graph of a call, with the arguments and results of f, and its guards.

    The call is captured as a whole: a break is an error that names its line. It runs once. Calls of
    loggers are left out.

    aten_graph: the graph calls operators instead of functions of tensors; then `tracing_mode`
    ("real", "fake" or "symbolic"), `pre_dispatch` and `decomposition_table` are those of make_fx.
    assume_static_by_default: sizes are constants; otherwise they are symbols wherever they can be.
    same_signature: False is refused where the call has no operation on tensors.
    """
    if dynamic_shapes is not None:
        raise ValueError(
            "[export] dynamic_shapes belong to taeda.export.export(..., strict=True); mark "
            "arguments with taeda._dynamo.mark_dynamic instead"
        )
    if not aten_graph and (decomposition_table is not None or pre_dispatch):
        raise AssertionError(
            "Specifying a decomposition_table table or tracing mode is illegal without setting "
            "aten_graph=True"
        )
    if tracing_mode not in ("real", "symbolic", "fake"):
        raise AssertionError(f"tracing_mode must be real, symbolic or fake, got {tracing_mode!r}")
    target = f._orig_mod if isinstance(f, OptimizedModule) else innermost_fn(f)
    owner = target if isinstance(target, taeda.nn.Module) else getattr(target, "__self__", None)

    def inner(*args, **kwargs):
        dynamic = None if assume_static_by_default else True
        with _without_logs():
            whole = capture_whole(target, args, kwargs, dynamic, owner)
        if whole.module is None and not same_signature:
            raise AssertionError(
                "Failed to produce a graph during tracing as no tensor operations were found and "
                "same_signature is False."
            )
        rewriting = _Rewriting(whole, owner)
        gm = rewriting.finish(_argument_names(target, args, kwargs))
        rewriting.keep_attributes(pytree.tree_leaves((args, kwargs)))
        if aten_graph:
            gm = _as_operators(gm, args, kwargs, tracing_mode, pre_dispatch, decomposition_table)
        return ExportResult(gm, whole.guards)

    if extra_args or extra_kwargs:
        return inner(*extra_args, **extra_kwargs)
    return inner


def _without_logs(*functions):
    """A scope in which captures leave out calls of loggers and of functions that log: a graph that
    is exported has no place for them."""
    named = config.ignore_logging_functions | config.reorderable_logging_functions
    return config.patch(ignore_logging_functions={*named, *_log_calls.METHODS, *functions})


# Those of calls, and what says how they are called.
_HOOKS = {
    "_backward_hooks",
    "_backward_pre_hooks",
    "_forward_hooks",
    "_forward_hooks_always_called",
    "_forward_hooks_with_kwargs",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
}


class _Stepping(taeda.fx.Interpreter):
    """Runs a captured graph; exports find the lines of the program at the node that runs."""

    def run_node(self, n):
        return super().run_node(n)


def strict_module(mod, args, kwargs):
    """A module with the state of another whose forward is that one's captured graph."""
    attributes = Attributes(mod)
    try:
        with _without_logs(print, *_log_calls.FUNCTIONS):
            whole = capture_whole(mod, args, kwargs, True, mod)
    finally:
        attributes.restore()
    if whole.module is None:
        return mod
    strict = _copy_of(mod)

    @functools.wraps(mod.forward)
    def forward(*args, **kwargs):
        flat = pytree.tree_leaves((args, kwargs))

        def value_at(place, outputs=()):
            if place.kind == "argument":
                return flat[place.value]
            if place.kind == "state":
                return _attribute(strict, place.value)
            return outputs[place.value] if place.kind == "output" else place.value

        outputs = _Stepping(whole.module).run(*map(value_at, whole.inputs))
        leaves = [value_at(place, outputs) for place in whole.results]
        for name, place in whole.writes.items():
            path, _, last = name.rpartition(".")
            setattr(strict.get_submodule(path), last, value_at(place, outputs))
        return pytree.tree_unflatten(leaves, whole.out_spec)

    object.__setattr__(strict, "forward", forward)
    return strict


def _copy_of(mod):
    """Another module with the same state, whose attributes are its own.

    Hooks of the module are in its captured graph already.
    """
    made = mod.__class__.__new__(mod.__class__)
    made.__dict__.update(mod.__dict__)
    for name in mod.__dict__.keys() & _HOOKS:
        made.__dict__[name] = type(mod.__dict__[name])()
    return made
