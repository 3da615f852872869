"""What a program says about its functions: how captures treat calls of them."""

import functools
import inspect
import types

from taeda import _C
from taeda.compiler import _known_calls, is_dynamo_compiling
from taeda.compiler._innermost import innermost_fn, note_innermost
from taeda.compiler._traced_calls import call_traced
from taeda.utils._config_module import dynamo_config as config

__all__ = [
    "allow_c_slot",
    "allow_in_graph",
    "assume_constant_result",
    "disable",
    "disable_nested_graph_breaks",
    "disallow_in_graph",
    "dont_skip_tracing",
    "error_on_graph_break",
    "forbid_in_graph",
    "innermost_fn",
    "is_dynamo_disable_recursive",
    "mark_static_address",
    "nonstrict_trace",
    "override_cudagraphs",
    "patch_dynamo_config",
    "run",
    "set_recursion_limit",
    "skip",
    "skip_frame",
    "step_unsupported",
    "substitute_in_graph",
]


def _each(mark, fn, problem):
    if isinstance(fn, (list, tuple)):
        return [_each(mark, one, problem) for one in fn]
    if not callable(fn):
        raise AssertionError(problem)
    mark(fn)
    return fn


# ---- functions that run as they are ----


def disable(fn=None, recursive=True, *, reason=None, wrapping=True):
    """A function that compilers call as it is; also a decorator, with or without arguments.

    Everything inside runs as it is, too; with `recursive=False` functions that it calls are
    compiled. `reason` stands in the text of the break.
    """
    if fn is None:
        return lambda function: disable(function, recursive, reason=reason, wrapping=wrapping)
    if not callable(fn):
        raise AssertionError("fn must be callable")
    if inspect.isclass(fn):
        return _disable_class(fn, recursive, reason)
    from taeda.compiler._module import OptimizedModule
    from taeda.nn import Module

    if isinstance(fn, OptimizedModule):
        fn = fn._orig_mod
    if isinstance(fn, Module):
        return OptimizedModule(fn, None)
    return _disabled(innermost_fn(fn), recursive, reason, wrapping)


def _disabled(fn, recursive, reason, wrapping=True):
    set_disabled, call_leaving_alone = _C._dynamo.set_disabled, _C._dynamo.call_leaving_alone

    def inner(*args, **kwargs):
        before = set_disabled(recursive)
        try:
            return fn(*args, **kwargs) if recursive else call_leaving_alone(fn, args, kwargs)
        finally:
            set_disabled(before)

    if wrapping:
        functools.update_wrapper(inner, fn)
    inner._torchdynamo_disable = True
    inner._torchdynamo_disable_msg = reason
    inner._torchdynamo_disable_recursive = recursive
    note_innermost(inner, fn)
    return inner


def _disable_class(cls, recursive, reason):
    """Calls of a class's instances run as they are."""
    from taeda.nn import Module

    name = "forward" if issubclass(cls, Module) else "__call__"
    own = getattr(cls, name, None)
    if isinstance(own, types.FunctionType):
        setattr(cls, name, _disabled(own, recursive, reason))
    return cls


def skip(fn=None):
    """Marks a function: captures leave its own frame alone."""
    if fn is None:
        return skip
    fn = innermost_fn(fn)
    if not callable(fn):
        raise AssertionError("fn must be callable")
    fn._torchdynamo_disable = True
    return fn


def run(fn=None):
    """A function that uses what is compiled by now, and compiles nothing."""
    if fn is None:
        return run
    if not callable(fn):
        raise AssertionError("fn must be callable")
    from taeda.compiler._stance import set_stance

    return set_stance("eager_on_recompile")(fn)


def is_dynamo_disable_recursive(method):
    """Whether `disable` made a function, and with which `recursive`; None for others."""
    return getattr(method, "_torchdynamo_disable_recursive", None)


# ---- functions in graphs ----


def allow_in_graph(fn):
    """Calls of the function are one node of a graph, whatever is inside."""

    def mark(function):
        _known_calls.note(function, _known_calls.OPERATOR)

    return _each(mark, fn, "allow_in_graph expects a callable")


def disallow_in_graph(fn):
    """Calls of the function, which would be one node of a graph, are breaks."""

    def mark(function):
        if not _known_calls.is_operator(function):
            raise RuntimeError(
                "disallow_in_graph is expected to be used on an already allowed callable (like "
                "torch.* ops). Allowed callables means callables that TorchDynamo puts as-is in "
                "the extracted graph."
            )
        _known_calls.note(function, _known_calls.UNKNOWN)

    return _each(mark, fn, "disallow_in_graph expects a callable")


def forbid_in_graph(fn):
    """Calls of the function are breaks: it has no meaning inside of a graph."""

    def mark(function):
        function._dynamo_forbidden = True
        _known_calls.note(function, _known_calls.UNKNOWN)

    return _each(mark, fn, "forbid_in_graph applies only to callables")


def nonstrict_trace(traceable_fn):
    """A function whose calls are one node of a captured graph; the backend traces what it calls.

    It takes and gives tensors, numbers and pytrees of them.
    """
    if not callable(traceable_fn):
        raise AssertionError("nonstrict_trace expects a callable")

    @functools.wraps(traceable_fn)
    def wrapped(*args, **kwargs):
        if is_dynamo_compiling():
            return call_traced(traceable_fn, args, kwargs)
        return traceable_fn(*args, **kwargs)

    return wrapped


def assume_constant_result(fn):
    """The function is called when a program is captured; its result is a constant of the graph."""
    fn._dynamo_marked_constant = True
    _known_calls.note(fn, _known_calls.CONSTANT)
    return fn


def _parameters(function):
    """What of a signature two functions must agree in; None where nothing is known of it."""
    try:
        signature = inspect.signature(function)
    except ValueError:
        return None
    rest = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    named = [p for p in signature.parameters.values() if p.kind not in rest]
    if not named and len(signature.parameters) == 2:
        return None  # takes anything
    is_keyword = [p.kind == inspect.Parameter.KEYWORD_ONLY for p in named]
    places = [p.name for p, only in zip(named, is_keyword, strict=True) if not only]
    keywords = {p.name for p, only in zip(named, is_keyword, strict=True) if only}
    return places, keywords, {p.name: p.default for p in named}


def substitute_in_graph(
    original_fn,
    *,
    can_constant_fold_through=False,
    skip_signature_check=False,
    is_embedded_type=False,
):
    """A decorator: captures enter the function in place of `original_fn`.

    It is for functions of C, which captures cannot enter. The program itself goes on calling the
    original.
    """
    is_class = is_embedded_type and inspect.isclass(original_fn)
    if not (inspect.isroutine(original_fn) or is_class):
        raise TypeError(f"substitute_in_graph expects a function but got {type(original_fn)!r}")

    def substitute(traceable_fn):
        if not isinstance(traceable_fn, types.FunctionType):
            raise TypeError(
                f"@substitute_in_graph(...) expects a function but got {type(traceable_fn)!r}"
            )
        if not skip_signature_check:
            given, expected = _parameters(traceable_fn), _parameters(original_fn)
            if given is not None and expected is not None and given != expected:
                raise TypeError(
                    f"Signature mismatch between {original_fn} and {traceable_fn}: "
                    f"{inspect.signature(original_fn)} != {inspect.signature(traceable_fn)}"
                )
        if not _known_calls.note_substitute(original_fn, traceable_fn):
            raise ValueError(
                f"Duplicate polyfilled object {original_fn}: already registered in "
                "TorchDynamo's rule map"
            )
        traceable_fn.__torch_dynamo_original__ = original_fn
        traceable_fn.__torch_dynamo_can_constant_fold_through__ = can_constant_fold_through
        return traceable_fn

    return substitute


# ---- breaks ----


def skip_frame(msg=""):
    """A place at which a capture ends; PyTorch leaves the rest of the frame alone, too."""


def step_unsupported(msg=""):
    """A place at which a capture ends, as one that it does not know."""


class _Scope:
    """A context manager that is a decorator, too."""

    def __call__(self, function):
        @functools.wraps(function)
        def inside(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return inside


class _ErrorOnGraphBreak(_Scope):
    def __init__(self, is_error):
        self.error_on_graph_break = is_error
        self._before = []

    def __enter__(self):
        self._before.append(_C._dynamo.set_fails_at_breaks(self.error_on_graph_break))

    def __exit__(self, *_):
        _C._dynamo.set_fails_at_breaks(self._before.pop())


def error_on_graph_break(error_on_graph_break):
    """A scope, or decorator, in which a break is an error, or none (False).

    It may stand inside of compiled functions and around them; under `fullgraph=True` every break is
    an error.
    """
    if not isinstance(error_on_graph_break, bool):
        kind = type(error_on_graph_break).__name__
        raise TypeError(f"error_on_graph_break takes True or False, got {kind}")
    return _ErrorOnGraphBreak(error_on_graph_break)


def call_whole(function, /, *args, **kwargs):
    """The call of a function that is compiled with fullgraph=True, inside of another one."""
    with error_on_graph_break(True):
        return function(*args, **kwargs)


# ---- settings of a part of a program ----

_PATCHES = (
    "verbose",
    "verify_correctness",
    "rewrite_assert_with_torch_assert",
    "capture_scalar_outputs",
    "allow_unspec_int_on_nn_module",
    "skip_torchrec",
    "dont_skip_tracing",
    "nested_graph_breaks",
)


class _ConfigPatch(_Scope):
    def __init__(self, changes):
        self.changes = changes
        self._scopes = []

    def __enter__(self):
        scope = config.patch(self.changes)
        scope.__enter__()
        self._scopes.append(scope)

    def __exit__(self, *error):
        return self._scopes.pop().__exit__(*error)


def patch_dynamo_config(arg1=None, arg2=None, **kwargs):
    """A scope, or decorator, in which settings of the capture have other values."""
    changes = {arg1: arg2} if isinstance(arg1, str) else dict(kwargs if arg1 is None else arg1)
    for name, value in changes.items():
        if name not in _PATCHES:
            raise ValueError(f"patch_dynamo_config does not support patching config {name}")
        if not isinstance(value, (bool, int, float, str, bytes, type(None))):
            raise ValueError(
                f"patch_dynamo_config does not support patching config {name} with "
                f"non-safe-constant value {value}"
            )
    return _ConfigPatch(changes)


def dont_skip_tracing(fn=None):
    """A scope, or decorator; captures enter functions of every package here, so nothing changes."""
    scope = patch_dynamo_config(dont_skip_tracing=True)
    return scope(fn) if fn else scope


def disable_nested_graph_breaks(fn=None):
    """A scope, or decorator; a break in a called function ends at that function's instruction."""
    scope = patch_dynamo_config(nested_graph_breaks=False)
    return scope(fn) if fn else scope


class _CudagraphOverride(_Scope):
    def __init__(self, fwd, bwd):
        self.fwd, self.bwd = fwd, bwd

    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


def override_cudagraphs(fwd=None, bwd=None):
    """A scope that says whether CUDA graphs are used; the CPU has none."""
    return _CudagraphOverride(fwd, bwd)


def set_recursion_limit(limit):
    """Checks a limit of nested calls inside of captures; -1 is none.

    Calls that are captured take no stack of C, so that sys.setrecursionlimit() alone limits them.
    """
    if limit < 1 and limit != -1:
        raise ValueError("recursion limit must be >= 1, or -1 to reset")


def mark_static_address(t, guard=False):
    """Marks a tensor: its memory stays where it is. Compiled programs read every address anew."""
    if not isinstance(t, _C.Tensor):
        raise TypeError(f"mark_static_address expects a tensor but received {type(t)}")
    t._dynamo_static_input_type = "guarded" if guard else "unguarded"


def allow_c_slot(tp, *, tp_hash=True, tp_richcompare=True):
    """Says that hash and comparison of a class of C do nothing else: captures may call them."""
    if not isinstance(tp, type):
        raise TypeError(f"allow_c_slot expects a type, got {type(tp).__name__}")
    names = ("__hash__",) if tp_hash else ()
    names += ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__") if tp_richcompare else ()
    for name in names:
        function = getattr(tp, name, None)
        if function is not None and function is not getattr(object, name, None):
            _known_calls.note(function, _known_calls.PURE)
    return tp
