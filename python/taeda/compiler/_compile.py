"""taeda.compile: functions and modules that are captured as they are called, and compiled."""

import dataclasses
import functools
import inspect
import itertools
import linecache
import types
import typing
import warnings
import weakref

import taeda
from taeda import _C
from taeda._inductor import _is_strict
from taeda.compiler._backends import (
    OWN_BACKENDS,
    get_default_backend,
    inductor,
    lookup_backend,
)
from taeda.compiler._callbacks import CallbackArgs, CallbackTrigger, callback_handler
from taeda.compiler._capture import with_bodies
from taeda.compiler._counters import counters, keep_reason, recompile_contexts
from taeda.compiler._errors import BackendCompilerFailed
from taeda.compiler._guards import GuardFail, as_filter, without_scope
from taeda.compiler._metrics import measured
from taeda.compiler._module import OptimizedModule
from taeda.compiler._options import InductorBackend, NamedBackend
from taeda.compiler._stance import forced_backend
from taeda.fx.graph_module import GraphModule
from taeda.utils._compile_logs import is_wanted, print_log
from taeda.utils._config_module import dynamo_config as config

__all__ = [
    "CompileContext",
    "OptimizedModule",
    "compile",
    "compile_callable",
    "forget_all",
    "optimize",
    "optimize_assert",
    "trampoline",
]

# Compiled callables that are alive, so that reset() finds them.
_alive = weakref.WeakSet()
_compile_ids = itertools.count()


@dataclasses.dataclass
class CompileContext:
    """How a function is compiled: the arguments of taeda.compile, read and checked."""

    backend: typing.Callable
    fullgraph: bool = False
    dynamic: bool | None = None
    recompile_limit: int | None = None
    guard_filter_fn: typing.Callable | None = None
    guard_export_fn: typing.Callable | None = None
    guard_fail_fn: typing.Callable | None = None
    error_on_graph_break: bool | None = None
    # Told of captures in place of counters.
    report: typing.Callable | None = None

    @property
    def compiler_config(self):
        """The settings of the backend that differ from its defaults; None where there are none."""
        return getattr(self.backend, "config", None)


def _count(gm):
    num_calls = sum(
        node.op in ("call_function", "call_method", "call_module") for node in gm.graph.nodes
    )
    counters["stats"]["unique_graphs"] += 1
    counters["stats"]["calls_captured"] += num_calls
    return num_calls


def _print_graph(gm):
    if is_wanted("graph"):
        print_log("graph", f"captured\n{gm.graph}")
    if is_wanted("graph_code"):
        print_log("graph_code", f"captured\n{gm.print_readable(print_output=False)}")


def _print_event(what, text, file, line, code):
    """Prints what a capture tells of itself, where that is wanted."""
    if what == "break" and is_wanted("graph_breaks"):
        source = linecache.getline(file, line).strip()
        print_log("graph_breaks", f"{file}:{line}: {text}\n    {source}")
    elif what in ("recompile", "limit") and is_wanted("recompiles"):
        name = code.co_name if code is not None else "?"
        contexts = "".join(f"\n    {context}" for context in recompile_contexts())
        because = f"{name} is compiled again, because of {text}{contexts}"
        print_log("recompiles", f"{file}:{line}: {because}")


def _print_guards(regions, file, line):
    """Prints the guards of the program that was compiled last, which begins at a line."""
    here = [guards for at_file, at_line, guards in regions if (at_file, at_line) == (file, line)]
    for guards in here[-1:]:
        lines = [f"    {text}" for _, _, text, *_ in guards if text]
        print_log("guards", "\n".join([f"{file}:{line}", *lines]))


def _is_inductor(backend):
    return backend is inductor or isinstance(backend, InductorBackend)


def _calls_of(gm):
    return [(node.op, node.target, node.args, node.kwargs) for node in gm.graph.nodes]


def _is_of_package(backend):
    return _is_inductor(backend) or getattr(backend, "compiler_fn", backend) in OWN_BACKENDS


def _is_graph(compiled, gm, calls):
    """Whether what a backend of the program gave is the captured graph, run by the package.

    Where that raises, the program raises by itself; what other functions raise is the backend's.
    """
    if hasattr(compiled, "_is_own"):
        return True
    return getattr(compiled, "__self__", compiled) is gm and _calls_of(gm) == calls


def _name_values(gm):
    """Backends written for captured graphs look for values under PyTorch's name."""
    for node in gm.graph.nodes:
        if "val" in node.meta:
            node.meta["example_value"] = node.meta["val"]


def _graph_compiler(context):
    """What the capture calls with a graph."""
    made = []  # lives as long as the function, so that wait() finds what was compiled for it

    def compile_graph(graph, inputs, bodies):
        gm = GraphModule(with_bodies(graph, bodies), graph)
        num_calls = _count(gm)
        _print_graph(gm)
        backend = forced_backend() or context.backend
        if _C._dynamo.compiles_provisionally():
            backend = lookup_backend("aot_eager")
        try:
            if getattr(backend, "__module__", None) != inductor.__module__:
                _name_values(gm)
            is_own = _is_of_package(backend)
            calls = None if is_own else _calls_of(gm)
            with measured(num_calls, len(inputs)):
                compiled = backend(gm, inputs)
                if not callable(compiled):
                    raise AssertionError("compiler_fn did not return callable")
            is_foreign = not (is_own or _is_graph(compiled, gm, calls))
        except Exception as error:
            is_optional = _is_inductor(backend) and not _is_strict()
            if not is_optional and not config.suppress_errors:
                raise BackendCompilerFailed(backend, error) from error
            # What the compiler lacks runs operator by operator.
            counters["fallback"][f"{type(error).__name__}: {error}"] += 1
            warnings.warn(
                "taeda.compile: a graph is run as it is, because it could not be compiled: "
                f"{type(error).__name__}: {error}",
                stacklevel=2,
            )
            compiled, is_foreign = gm.forward, False
        made.append(compiled)
        # Plans are called without Python in between.
        return getattr(compiled, "_plan", compiled), is_foreign

    return compile_graph


def _tell_callbacks(what):
    """Calls the program's functions for the beginning and the end of a compilation."""
    args = CallbackArgs(CallbackTrigger.DYNAMO, f"{next(_compile_ids)}/0")
    (callback_handler.begin if what == "begin" else callback_handler.end)(args)


def _counting(context, made):
    """Counts what a capture tells of itself; whether it is to be an error.

    `made` will hold a weak reference to the callable.
    """

    def note(what, text, file, line, instruction, code):
        _print_event(what, text, file, line, code)
        if what == "graph" and is_wanted("guards"):
            _print_guards(made[0]().guards, file, line)
        if what in ("begin", "end"):
            _tell_callbacks(what)
        elif what == "break":
            counters["graph_break"][text] += 1
            keep_reason(text, file, line)
        elif what == "given up":
            counters["given_up"][text] += 1
        elif what == "recompile":
            counters["recompile"][text] += 1
            if context.guard_fail_fn is not None:
                # Locals of the program as it names them: x, where guards say L['x'].
                context.guard_fail_fn(GuardFail(without_scope(text), code))
            return config.error_on_recompile
        elif what == "limit":
            counters["recompile_limit"][text] += 1
            if config.fail_on_recompile_limit_hit or context.fullgraph:
                return True
            warnings.warn(
                f"taeda.compile: {file}:{line} was compiled {_limit(context)} times and runs as it "
                f"is from now on; the last guard that failed: {text}",
                stacklevel=2,
            )
        return False

    return note


def _limit(context):
    """How often a region is compiled."""
    limit = context.recompile_limit or config.recompile_limit
    return min(limit, config.accumulated_recompile_limit)


def _dynamic(dynamic):
    """Whether sizes are symbols: always, never, or (None) where they changed."""
    if dynamic is None and not config.assume_static_by_default:
        return True
    if dynamic is None and not (config.automatic_dynamic_shapes and config.dynamic_shapes):
        return False
    return dynamic


def trampoline(function, *args, **kwargs):
    """The function of callables that are no functions of Python."""
    return function(*args, **kwargs)


def compile_callable(function, context):
    """A callable that captures and compiles a function as it is called."""
    from taeda.compiler._known_calls import fill

    fill()
    made_as = []
    settings = {
        "compile": _graph_compiler(context),
        "report": context.report or _counting(context, made_as),
        "filter": as_filter(context.guard_filter_fn, context.guard_export_fn),
        "fullgraph": context.fullgraph,
        "dynamic": lambda: _dynamic(context.dynamic),
        "recompile_limit": lambda: _limit(context),
    }
    is_method = isinstance(function, types.MethodType)
    is_function = isinstance(function, types.FunctionType)
    plain = function.__func__ if is_method else function if is_function else trampoline
    made = _C._dynamo.CompiledCallable(plain, settings)
    made_as.append(weakref.ref(made))
    _alive.add(made)
    if is_method:
        return types.MethodType(made, function.__self__)
    if not is_function:
        return functools.partial(made, function)
    functools.update_wrapper(made, function)
    made._torchdynamo_orig_callable = function
    made.get_compiler_config = lambda: context.compiler_config
    return made


def forget_all():
    """Forgets what was compiled: functions are captured again."""
    for callable_ in list(_alive):
        callable_.clear()


def _read_backend(backend, mode, options):
    """The backend with its settings, and the filter of guards among the options."""
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    options = dict(options or {})
    guard_filter_fn = options.pop("guard_filter_fn", None)
    backend = get_default_backend() if backend is None else backend
    if isinstance(backend, (InductorBackend, NamedBackend)):
        return backend, guard_filter_fn
    function = lookup_backend(backend)
    make = InductorBackend if function is inductor else functools.partial(NamedBackend, function)
    return make(mode, options), guard_filter_fn


def _compiled(model, context):
    if isinstance(model, OptimizedModule):
        model = model._orig_mod
    if isinstance(model, taeda.nn.Module):
        return OptimizedModule(model, context)
    if inspect.isclass(model):
        model.__call__ = compile_callable(model.__call__, context)
        return model
    if isinstance(model, types.MethodType):
        inner = getattr(model.__func__, "_torchdynamo_orig_callable", model.__func__)
        return compile_callable(types.MethodType(inner, model.__self__), context)
    return compile_callable(getattr(model, "_torchdynamo_orig_callable", model), context)


def compile(
    model=None,
    *,
    fullgraph=False,
    dynamic=None,
    backend=None,
    mode=None,
    options=None,
    name=None,
    disable=False,
    recompile_limit=None,
    isolate_recompiles=False,
):
    """Compiles a function or a module: it is captured when it is called, and runs as kernels.

    model: what is compiled; without it the result is a decorator.
    fullgraph: a part that cannot be captured is an error instead of being run as it is.
    dynamic: sizes are symbols from the first call (True) or never (False); None: those that change.
    backend: a name (taeda.compiler.list_backends()), or a function of a GraphModule and inputs;
    None: what taeda.compiler.set_default_backend() says, "inductor" at first.
    mode: "default", "reduce-overhead", "max-autotune" or "max-autotune-no-cudagraphs".
    options: of the backend (taeda._inductor.list_options()), and guard_filter_fn.
    name: for people.
    disable: gives the model back as it is.
    recompile_limit: in place of taeda._dynamo.config.recompile_limit.
    isolate_recompiles: accepted; versions always belong to one compiled function.
    """
    if model is None:
        return lambda model: compile(
            model,
            fullgraph=fullgraph,
            dynamic=dynamic,
            backend=backend,
            mode=mode,
            options=options,
            name=name,
            disable=disable,
            recompile_limit=recompile_limit,
            isolate_recompiles=isolate_recompiles,
        )
    if not callable(model):
        raise RuntimeError(
            f"taeda.compile takes a function or a module, not {type(model).__name__}"
        )
    function, guard_filter_fn = _read_backend(backend, mode, options)
    if disable or config.disable:
        return model
    if taeda.compiler.is_exporting():
        warnings.warn(
            "taeda.compile is ignored when called inside taeda.export region", stacklevel=2
        )
        return model
    if recompile_limit is not None and recompile_limit < 1:
        raise ValueError(f"recompile_limit is at least 1, not {recompile_limit}")
    context = CompileContext(
        function,
        fullgraph=fullgraph,
        dynamic=dynamic,
        recompile_limit=recompile_limit,
        guard_filter_fn=guard_filter_fn,
    )
    return _compiled(model, context)


class OptimizeContext:
    """What `optimize` gives: a decorator that compiles."""

    def __init__(self, context):
        self._context = context

    def __call__(self, fn):
        if self._context is None:
            return fn
        made = _compiled(fn, self._context)
        if self._context.error_on_graph_break is None:
            return made
        from taeda.compiler._marks import error_on_graph_break

        return error_on_graph_break(self._context.error_on_graph_break)(made)

    def __enter__(self):
        raise RuntimeError(
            "torch._dynamo.optimize(...) is used with a context manager. Please use "
            "taeda.compile, or the result of optimize(...) as a decorator."
        )

    def __exit__(self, *_):
        pass


def optimize(
    backend="inductor",
    *,
    nopython=False,
    error_on_graph_break=None,
    guard_export_fn=None,
    guard_fail_fn=None,
    guard_filter_fn=None,
    disable=False,
    dynamic=None,
    recompile_limit=None,
    isolate_recompiles=False,
):
    """A decorator that compiles, with functions that are told of guards.

    guard_export_fn gets the guards of each compiled version, guard_fail_fn a `GuardFail` at each
    recompile, guard_filter_fn says which guards are kept.
    """
    if disable or config.disable:
        return OptimizeContext(None)
    function, _ = _read_backend(backend, None, None)
    return OptimizeContext(
        CompileContext(
            function,
            fullgraph=nopython,
            dynamic=dynamic,
            recompile_limit=recompile_limit,
            guard_filter_fn=guard_filter_fn,
            guard_export_fn=guard_export_fn,
            guard_fail_fn=guard_fail_fn,
            error_on_graph_break=error_on_graph_break,
        )
    )


def optimize_assert(backend, *, dynamic=None, **hooks):
    """The same for functions of one graph."""
    return optimize(backend, nopython=True, dynamic=dynamic, **hooks)
