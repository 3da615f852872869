"""taeda.compile: functions and modules that are captured as they are called, and compiled."""

import collections
import functools
import itertools
import sys
import types
import warnings
import weakref
from collections.abc import Mapping

import taeda
from taeda import _C
from taeda.compiler import _known_calls  # noqa: F401  captures ask it
from taeda.compiler._backends import (
    OWN_BACKENDS,
    eager,
    get_default_backend,
    inductor,
    lookup_backend,
)
from taeda.compiler._callbacks import callback_handler
from taeda.compiler._capture import CapturedGraph
from taeda.compiler._counters import counters, keep_reason, recompile_contexts
from taeda.compiler._innermost import innermost_fn, note_innermost
from taeda.compiler._metrics import measured
from taeda.compiler._options import InductorBackend, NamedBackend, is_disabled, is_strict
from taeda.compiler._stance import forced_backend
from taeda.utils._compile_logs import is_wanted, print_log
from taeda.utils._config_module import compiler_config, functorch_config, inductor_config
from taeda.utils._config_module import dynamo_config as config

__all__ = [
    "CompileContext",
    "code_of",
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
# By code and settings: compiled callables that take versions of each other, and what was compiled
# last, whoever is alive.
_siblings = weakref.WeakValueDictionary()
_kept = collections.OrderedDict()
_MOST_KEPT, _MOST_KEPT_CODES = 8, 64
_CONFIGS = (compiler_config, config, functorch_config, inductor_config)


class CompileContext:
    """How a function is compiled: the arguments of taeda.compile, read and checked.

    report: told of captures in place of counters.
    is_isolated: versions are those of one compiled function alone.
    """

    def __init__(
        self,
        backend,
        *,
        fullgraph=False,
        dynamic=None,
        recompile_limit=None,
        guard_filter_fn=None,
        guard_export_fn=None,
        guard_fail_fn=None,
        error_on_graph_break=None,
        report=None,
        is_isolated=False,
    ):
        if dynamic is not None and not isinstance(dynamic, bool):
            raise AssertionError(
                f"Expected enable to be a bool, got {type(dynamic)}; dynamic is True, False or None"
            )
        self.backend = backend
        self.fullgraph = fullgraph
        self.dynamic = dynamic
        self.recompile_limit = recompile_limit
        self.guard_filter_fn = guard_filter_fn
        self.guard_export_fn = guard_export_fn
        self.guard_fail_fn = guard_fail_fn
        self.error_on_graph_break = error_on_graph_break
        self.report = report
        self.is_isolated = is_isolated or any((report, guard_export_fn, guard_fail_fn))

    @property
    def compiler_config(self):
        """The settings of the backend that differ from its defaults; None where there are none."""
        return getattr(self.backend, "config", None)


def _count(num_calls):
    counters["stats"]["unique_graphs"] += 1
    counters["stats"]["calls_captured"] += num_calls


def _print_graph(captured):
    if is_wanted("graph"):
        print_log("graph", f"captured\n{captured.graph}")
    if is_wanted("graph_code"):
        text = captured.module.print_readable(print_output=False)
        print_log("graph_code", f"captured\n{text}")


def _print_event(what, text, file, line, code):
    """Prints what a capture tells of itself, where that is wanted."""
    if what == "break" and is_wanted("graph_breaks"):
        import linecache

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


def _calls_of(captured):
    nodes = captured.module.graph.nodes
    return [(node.op, node.target, node.args, node.kwargs) for node in nodes]


def _is_of_package(backend):
    return _is_inductor(backend) or getattr(backend, "compiler_fn", backend) in OWN_BACKENDS


def _takes_apart(backend):
    """Whether a backend compiles what is inside of wrappers in their place."""
    return _is_of_package(backend) and getattr(backend, "compiler_fn", backend) is not eager


def _is_graph(compiled, captured, calls):
    """Whether what a backend of the program gave is the captured graph, run by the package.

    Where that raises, the program raises by itself; what other functions raise is the backend's.
    """
    if hasattr(compiled, "_is_own"):
        return True
    is_same = getattr(compiled, "__self__", compiled) is captured.module
    return is_same and _calls_of(captured) == calls


def _for_backend(captured, backend):
    """The graph as a GraphModule; backends of programs look for values under PyTorch's name."""
    if getattr(backend, "__module__", None) != inductor.__module__:
        for node in captured.graph.nodes:
            if "val" in node.meta:
                node.meta["example_value"] = node.meta["val"]
    return captured.module


def _compiled_inside(captured, inputs, objects, backend):
    """The graph compiled for the tensors inside of wrappers, or as it is."""
    compiled = None
    if objects is not None and _takes_apart(backend):
        from taeda.compiler._inner_tensors import compile_inside

        compiled = compile_inside(captured.module, inputs, objects, backend)
    return compiled or captured.module.forward


def _graph_compiler(context):
    """What the capture calls with a graph."""
    made = []  # lives as long as the function, so that wait() finds what was compiled for it

    def current_backend():
        if _C._dynamo.compiles_provisionally():
            return lookup_backend("aot_eager")
        return forced_backend() or context.backend

    def compile_graph(
        bare_graph, inputs, bodies, has_handlers=False, needs_objects=False, objects=None
    ):
        captured = CapturedGraph(bare_graph, bodies, needs_objects)
        num_calls = captured.num_calls
        _count(num_calls)
        _print_graph(captured)
        backend = current_backend()
        try:
            is_own = _is_of_package(backend)
            calls = None if is_own else _calls_of(captured)
            with measured(num_calls, len(inputs)):
                if is_own and has_handlers:
                    # Objects with handlers have no memory for kernels, and a trace takes them for
                    # plain tensors.
                    compiled = _compiled_inside(captured, inputs, objects, backend)
                elif isinstance(backend, InductorBackend):
                    compiled = backend.compile_captured(captured, inputs)
                else:
                    compiled = backend(_for_backend(captured, backend), inputs)
                if not callable(compiled):
                    raise AssertionError("compiler_fn did not return callable")
            is_foreign = not (is_own or _is_graph(compiled, captured, calls))
        except Exception as error:
            from taeda.compiler._errors import (
                BackendCompilerFailed,
                InductorError,
                ProgramPartError,
            )

            is_of_program = isinstance(error, ProgramPartError)
            is_optional = _is_inductor(backend) and not is_strict() and not is_of_program
            if not is_optional and not config.suppress_errors:
                if is_of_program:
                    raise
                kind = InductorError if _is_inductor(backend) else BackendCompilerFailed
                raise kind(backend, error) from error
            # What the compiler lacks runs operator by operator.
            counters["fallback"][f"{type(error).__name__}: {error}"] += 1
            warnings.warn(
                "taeda.compile: a graph is run as it is, because it could not be compiled: "
                f"{type(error).__name__}: {error}",
                stacklevel=2,
            )
            compiled, is_foreign = captured.module.forward, False
        made.append(compiled)
        # Plans are called without Python in between.
        return getattr(compiled, "_plan", compiled), is_foreign

    compile_graph.takes_apart = lambda: _takes_apart(current_backend())
    return compile_graph


def _tell_callbacks(what):
    """Calls the program's functions for the beginning and the end of a compilation."""
    compile_id = f"{next(_compile_ids)}/0"
    if what == "end":
        return callback_handler.end("DYNAMO", compile_id)
    try:
        callback_handler.begin("DYNAMO", compile_id)
    except BaseException:
        # The call leaves with the error, and no compilation follows that could end.
        callback_handler.end("DYNAMO", compile_id)
        raise


def code_of(function):
    """The code that the program wrote for a callable that is no function; None without any."""
    import inspect

    is_module = "taeda.nn" in sys.modules and isinstance(function, taeda.nn.Module)
    own = function.forward if is_module else type(function).__call__
    return getattr(inspect.unwrap(own), "__code__", None)


def place_told(function, what, file, line, code):
    """The place that a report names: of a callable that is no function, what the program wrote."""
    # Guards are found by the place of the frame.
    own = code_of(function) if code is trampoline.__code__ and what != "graph" else None
    return (file, line, code) if own is None else (own.co_filename, own.co_firstlineno, own)


def _counting(function, context, made):
    """Counts what a capture tells of itself; whether it is to be an error.

    `made` will hold a weak reference to the callable.
    """

    def note(what, text, file, line, instruction, code):
        file, line, code = place_told(function, what, file, line, code)
        _print_event(what, text, file, line, code)
        if what == "graph" and is_wanted("guards"):
            _print_guards(made[0]().guards, file, line)
        if what in ("graph", "given up"):
            counters["frames"]["total"] += 1
            counters["frames"]["ok"] += what == "graph"
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
                from taeda.compiler._guards import tell_failure

                tell_failure(context.guard_fail_fn, text, code)
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


def _guard_filter(context):
    if context.guard_filter_fn is None and context.guard_export_fn is None:
        return None
    from taeda.compiler._guards import as_filter

    return as_filter(context.guard_filter_fn, context.guard_export_fn)


class _Siblings(weakref.WeakSet):
    """Callables whose versions hold for each other, as far as guards say.

    They compile one code with one dict of globals, for callables of one class, under equal
    settings. What `kept` has lives on when they are gone: a program that compiles a function anew
    at each call, or a closure that it makes anew, compiles it once.
    """

    def __init__(self, key):
        super().__init__()
        self.key = key

    def __call__(self):
        # Other threads add to the set meanwhile.
        alive = [reference() for reference in self.data.copy()]
        return [*(one for one in alive if one is not None), *_kept.get(self.key, ())]

    def keep(self, versions):
        """Keeps what the latest callables compiled, of the latest codes."""
        of_code = _kept.setdefault(self.key, collections.deque(maxlen=_MOST_KEPT))
        _kept.move_to_end(self.key)
        of_code.append(versions)
        if len(_kept) > _MOST_KEPT_CODES:
            _kept.popitem(last=False)


def _siblings_of(plain, function, context):
    """The siblings of a callable; None where it has to have none."""
    # A frozen graph keeps what it made of one model's parameters.
    freezes = (context.compiler_config or {}).get("freezing", inductor_config.freezing)
    if context.is_isolated or freezes:
        return None
    of_class = type(function) if plain is trampoline else None
    settings = (context.backend, context.fullgraph, context.dynamic, context.guard_filter_fn)
    changed = [module._changed() for module in _CONFIGS]
    # Versions know their code: the numbers of one that is gone are of no version.
    key = (id(plain.__code__), id(plain.__globals__), of_class, *settings, *changed)
    try:
        return _siblings.setdefault(key, _Siblings(key))
    except TypeError:  # a backend without a hash
        return None


def compile_callable(function, context):
    """A callable that captures and compiles a function as it is called."""
    made_as = []
    is_method = isinstance(function, types.MethodType)
    is_function = isinstance(function, types.FunctionType)
    plain = function.__func__ if is_method else function if is_function else trampoline
    siblings = _siblings_of(plain, function, context)
    settings = {
        "compile": _graph_compiler(context),
        # What is kept is not to keep a function of the program, and what it closes over.
        "report": context.report
        or _counting(function if plain is trampoline else None, context, made_as),
        "filter": _guard_filter(context),
        "fullgraph": context.fullgraph,
        "dynamic": lambda: _dynamic(context.dynamic),
        "recompile_limit": lambda: _limit(context),
        "siblings": siblings,
        # Modules of one class have sizes of their own, each of which may stay what it is.
        "shares_history": plain is not trampoline,
    }
    made = _C._dynamo.CompiledCallable(plain, settings)
    made_as.append(weakref.ref(made))
    _alive.add(made)
    if siblings is not None:
        siblings.add(made)
        if plain is not trampoline:
            siblings.keep(made.versions)
    if is_method:
        functools.update_wrapper(made, function.__func__)
        return types.MethodType(made, function.__self__)
    if not is_function:
        made.__wrapped__ = trampoline  # tells the signature
        return functools.partial(made, function)
    functools.update_wrapper(made, function)
    note_innermost(made, function)
    made.get_compiler_config = lambda: context.compiler_config
    return made


def forget_all():
    """Forgets what was compiled: functions are captured again."""
    _kept.clear()
    for callable_ in list(_alive):
        callable_.clear()


def _read_backend(backend, mode, options):
    """The backend with its settings, and the filter of guards among the options."""
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if options is not None and not isinstance(options, Mapping):
        raise TypeError(f"options of taeda.compile are a dict, got {type(options).__name__}")
    options = dict(options or {})
    guard_filter_fn = options.pop("guard_filter_fn", None)
    backend = get_default_backend() if backend is None else backend
    if isinstance(backend, (InductorBackend, NamedBackend)):
        return backend, guard_filter_fn
    function = lookup_backend(backend)
    make = InductorBackend if function is inductor else functools.partial(NamedBackend, function)
    return make(mode, options), guard_filter_fn


def _call_of(type_):
    """The __call__ of a class as a function, which instances bind."""
    own = type_.__call__
    if isinstance(own, (types.FunctionType, _C._dynamo.CompiledCallable)):
        return innermost_fn(own)

    @functools.wraps(own)
    def call(self, *args, **kwargs):
        return own(self, *args, **kwargs)

    return call


def _compiled(model, context):
    if "taeda.nn" in sys.modules:  # without it there is no module
        from taeda.compiler._module import OptimizedModule

        if isinstance(model, OptimizedModule):
            model = model._orig_mod
        if isinstance(model, taeda.nn.Module):
            return OptimizedModule(model, context)
    if isinstance(model, type):
        model.__call__ = compile_callable(_call_of(model), context)
        return model
    if isinstance(model, types.MethodType):
        return compile_callable(
            types.MethodType(innermost_fn(model.__func__), model.__self__), context
        )
    return compile_callable(innermost_fn(model), context)


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
    mode: "default", "lite", "reduce-overhead", "max-autotune" or "max-autotune-no-cudagraphs".
    options: of the backend (taeda._inductor.list_options()), and guard_filter_fn.
    name: for people.
    disable: gives the model back as it is.
    recompile_limit: in place of taeda._dynamo.config.recompile_limit.
    isolate_recompiles: versions are this compiled function's alone; otherwise it takes those of
    others of the same code, backend and settings, where their guards hold.
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
        raise AssertionError(
            f"A callable function is expected, but {type(model)} is provided. taeda.compile takes "
            "functions, modules and other objects that are called"
        )
    function, guard_filter_fn = _read_backend(backend, mode, options)
    if disable or is_disabled():
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
        is_isolated=isolate_recompiles,
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
    if disable or is_disabled():
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
            is_isolated=isolate_recompiles,
        )
    )


def optimize_assert(backend, *, dynamic=None, **hooks):
    """The same for functions of one graph."""
    return optimize(backend, nopython=True, dynamic=dynamic, **hooks)
