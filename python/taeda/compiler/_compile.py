"""taeda.compile: functions and modules that are captured as they are called, and compiled."""

import collections
import functools
import inspect
import re
import types
import warnings
import weakref

import taeda
from taeda import _C
from taeda._inductor import _is_strict
from taeda.compiler._backends import inductor, lookup_backend
from taeda.compiler._capture import with_bodies
from taeda.compiler._counters import counters
from taeda.compiler._errors import BackendCompilerFailed
from taeda.compiler._metrics import measured
from taeda.fx.graph_module import GraphModule
from taeda.utils._config_module import dynamo_config as config

__all__ = ["OptimizedModule", "compile", "compile_callable", "optimize", "optimize_assert"]

_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
_OPTIONS = {"native", "check"}


# Compiled callables that are alive, so that reset() finds them.
_alive = weakref.WeakSet()


def _graph_compiler(backend, options):
    """What the capture calls with a graph."""
    made = []

    def compile_graph(graph, inputs, bodies):
        gm = GraphModule(with_bodies(graph, bodies), graph)
        counters["stats"]["unique_graphs"] += 1
        num_calls = sum(
            node.op in ("call_function", "call_method", "call_module") for node in graph.nodes
        )
        counters["stats"]["calls_captured"] += num_calls
        try:
            with measured(num_calls, len(inputs)):
                compiled = backend(gm, inputs, **options)
                if not callable(compiled):
                    raise AssertionError("compiler_fn did not return callable")
        except Exception as error:
            if (backend is not inductor or _is_strict()) and not config.suppress_errors:
                raise BackendCompilerFailed(backend, error) from error
            # What the compiler lacks runs operator by operator.
            counters["fallback"][f"{type(error).__name__}: {error}"] += 1
            warnings.warn(
                "taeda.compile: a graph is run as it is, because it could not be compiled: "
                f"{type(error).__name__}: {error}",
                stacklevel=2,
            )
            compiled = gm.forward
        made.append(compiled)
        # Plans are called without Python in between.
        return getattr(compiled, "_plan", compiled)

    return compile_graph


def _note(what, text, file, line):
    """Counts what a capture tells of itself; whether it is to be an error."""
    where = f"{file}:{line}" if file else ""
    if what == "break":
        counters["graph_break"][text] += 1
    elif what == "given up":
        counters["given_up"][text] += 1
    elif what == "recompile":
        counters["recompile"][text] += 1
        return config.error_on_recompile
    elif what == "limit":
        counters["recompile_limit"][text] += 1
        if config.fail_on_recompile_limit_hit:
            return True
        warnings.warn(
            f"taeda.compile: {where} was compiled {config.recompile_limit} times and runs as it is "
            f"from now on; the last guard that failed: {text}",
            stacklevel=2,
        )
    return False


def _trampoline(function, *args, **kwargs):
    return function(*args, **kwargs)


def compile_callable(function, backend, options, fullgraph, dynamic, report=_note):
    """A callable that captures and compiles a function as it is called."""
    from taeda.compiler._known_calls import fill

    fill()
    settings = {
        "compile": _graph_compiler(backend, options),
        "report": report,
        "fullgraph": fullgraph,
        "dynamic": dynamic,
        "recompile_limit": config.recompile_limit,
    }
    if isinstance(function, types.MethodType):
        inner = _C._dynamo.CompiledCallable(function.__func__, settings)
        made = types.MethodType(inner, function.__self__)
        _alive.add(inner)
        return made
    if isinstance(function, types.FunctionType):
        made = _C._dynamo.CompiledCallable(function, settings)
    else:
        inner = _C._dynamo.CompiledCallable(_trampoline, settings)
        _alive.add(inner)
        made = functools.partial(inner, function)
        return made
    functools.update_wrapper(made, function)
    made._torchdynamo_orig_callable = function
    _alive.add(made)
    return made


class OptimizedModule(taeda.nn.Module):
    """A module whose calls are compiled; everything else is that of the module it was made of."""

    _opt_mod_attributes = {"_orig_mod", "forward", "_arguments"}

    def __init__(self, module, arguments):
        super().__init__()
        self._modules["_orig_mod"] = module
        object.__setattr__(self, "_arguments", arguments)
        self._make()
        self.training = module.training

    def _make(self):
        compiled = compile_callable(self._orig_mod, *self._arguments)
        object.__setattr__(self, "forward", compiled)

    def __getattr__(self, name):
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name, value):
        if name in type(self)._opt_mod_attributes or name == "training":
            super().__setattr__(name, value)
            if name == "training":
                self._orig_mod.training = value
            return
        setattr(self._orig_mod, name, value)

    def __delattr__(self, name):
        if name in type(self)._opt_mod_attributes:
            return super().__delattr__(name)
        return delattr(self._orig_mod, name)

    def __len__(self):
        return len(self._orig_mod)

    def __dir__(self):
        return [*super().__dir__(), *dir(self._orig_mod)]

    def __reduce__(self):
        return _remake_module, (self._orig_mod, self._arguments)

    def __deepcopy__(self, memo):
        import copy

        return OptimizedModule(copy.deepcopy(self._orig_mod, memo), self._arguments)


def _remake_module(module, arguments):
    return OptimizedModule(module, arguments)


def _read_options(mode, options):
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if mode is not None and mode not in _MODES:
        names = ", ".join(_MODES)
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {names}")
    options = dict(options or {})
    for name in options:
        if name not in _OPTIONS:
            raise RuntimeError(
                f"Unexpected optimization option {name}, known options are {sorted(_OPTIONS)}"
            )
    return options


def compile(
    model=None,
    *,
    fullgraph=False,
    dynamic=None,
    backend="inductor",
    mode=None,
    options=None,
    disable=False,
):
    """Compiles a function or a module: it is captured when it is called, and runs as kernels.

    model: what is compiled; without it the result is a decorator.
    fullgraph: a part that cannot be captured is an error instead of being run as it is.
    dynamic: sizes are symbols from the first call (True) or never (False); None: those that change.
    backend: a name (taeda.compiler.list_backends()), or a function of a GraphModule and inputs.
    mode: "default", "reduce-overhead", "max-autotune" or "max-autotune-no-cudagraphs".
    options: of the backend.
    disable: gives the model back as it is.
    """
    if model is None:
        return lambda model: compile(
            model,
            fullgraph=fullgraph,
            dynamic=dynamic,
            backend=backend,
            mode=mode,
            options=options,
            disable=disable,
        )
    if not callable(model):
        raise RuntimeError(
            f"taeda.compile takes a function or a module, not {type(model).__name__}"
        )
    options = _read_options(mode, options)
    if disable or config.disable:
        return model
    return _compile_model(model, (lookup_backend(backend), options, fullgraph, dynamic))


def _compile_model(model, arguments):
    if isinstance(model, OptimizedModule):
        return model
    if isinstance(model, taeda.nn.Module):
        return OptimizedModule(model, arguments)
    if inspect.isclass(model):
        model.__call__ = compile_callable(model.__call__, *arguments)
        return model
    if isinstance(model, types.MethodType):
        inner = getattr(model.__func__, "_torchdynamo_orig_callable", model.__func__)
        return compile_callable(types.MethodType(inner, model.__self__), *arguments)
    return compile_callable(getattr(model, "_torchdynamo_orig_callable", model), *arguments)


GuardFail = collections.namedtuple("GuardFail", ["reason", "orig_code"])


class _TellingFailures:
    """A report that also tells a function of the program which guard failed.

    The reason names locals of the program as it does: x, where guards say L['x'].
    """

    def __init__(self, model, guard_fail_fn):
        self._code = getattr(model, "__code__", None)
        self._guard_fail_fn = guard_fail_fn

    def __call__(self, what, text, file, line):
        if what == "recompile":
            self._guard_fail_fn(GuardFail(re.sub(r"L\['(\w+)'\]", r"\1", text), self._code))
        return _note(what, text, file, line)


def optimize(
    backend="inductor", *, nopython=False, dynamic=None, disable=False, guard_fail_fn=None, **_
):
    """A decorator that compiles; PyTorch's older name.

    guard_fail_fn: called with a GuardFail when a function is compiled again.
    """
    if guard_fail_fn is None or disable or config.disable:
        return lambda model: compile(
            model, backend=backend, fullgraph=nopython, dynamic=dynamic, disable=disable
        )
    own = (lookup_backend(backend), {}, nopython, dynamic)
    return lambda model: _compile_model(model, (*own, _TellingFailures(model, guard_fail_fn)))


def optimize_assert(backend, *, dynamic=None, **_):
    """The same for functions of one graph."""
    return optimize(backend, nopython=True, dynamic=dynamic)
