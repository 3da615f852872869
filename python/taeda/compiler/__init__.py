"""What a program may ask, and tell, about being compiled."""

import contextlib
import threading

from taeda import _C
from taeda.utils._config_module import compiler_config as config

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "config",
    "cudagraph_mark_step_begin",
    "disable",
    "explain",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_stance",
    "wait",
]

_LAZY = {
    "compile": "_compile",
    "explain": "_explain",
    "list_backends": "_backends",
}


def __getattr__(name):
    if name not in _LAZY:
        raise AttributeError(f"module 'taeda.compiler' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f"taeda.compiler.{_LAZY[name]}"), name)


class _Now(threading.local):
    """What this thread is doing."""

    is_exporting = False


_now = _Now()


@contextlib.contextmanager
def _exporting():
    """The scope of an export."""
    before, _now.is_exporting = _now.is_exporting, True
    try:
        yield
    finally:
        _now.is_exporting = before


def is_exporting():
    """Whether the program runs in order to be exported."""
    return _now.is_exporting


def is_dynamo_compiling():
    """Whether the bytecode of the caller is being read by a compiler."""
    return _C._dynamo.is_capturing()


def is_compiling():
    """Whether the program runs in order to become a graph: it is exported or compiled."""
    return is_exporting() or is_dynamo_compiling()


def disable(fn=None, recursive=True, *, reason=None, wrapping=True):
    """Marks a function: compilers call it as it is. Also a decorator, with or without arguments."""
    if fn is None:
        return lambda function: disable(function, recursive, reason=reason)
    target = getattr(fn, "__func__", fn)
    target._torchdynamo_disable = True
    target._torchdynamo_disable_msg = reason
    return fn


def wait():
    """Waits for all kernels that are being compiled in the background.

    A kernel that cannot be compiled stays interpreted; with TAEDA_COMPILE_STRICT=1 it is an error.
    """
    from taeda import _inductor

    for compiled in list(_inductor._alive):
        compiled.wait()


def reset():
    """Forgets compiled programs: functions are captured again, and wait() knows later ones."""
    from taeda import _inductor
    from taeda.compiler._compile import _alive

    for callable_ in list(_alive):
        callable_.clear()
    _inductor._alive.clear()


def allow_in_graph(fn):
    """Calls of the function are one node of a graph, whatever is inside."""
    from taeda.compiler._known_calls import OPERATOR, note

    for function in fn if isinstance(fn, (list, tuple)) else [fn]:
        note(function, OPERATOR)
    return fn


def _disallow_in_graph(fn):
    """Calls of the function are breaks."""
    from taeda.compiler._known_calls import UNKNOWN, note

    for function in fn if isinstance(fn, (list, tuple)) else [fn]:
        note(function, UNKNOWN)
    return fn


def assume_constant_result(fn):
    """The function is called when a program is captured; its result is a constant of the graph."""
    from taeda.compiler._known_calls import CONSTANT, note

    note(fn, CONSTANT)
    return fn


def graph_break(msg=""):
    """A place at which a capture ends; what follows is another graph."""


def cudagraph_mark_step_begin():
    """The beginning of a step, where memory of the former may be used again; nothing to do here."""


class set_stance:
    """How compiled functions behave from now on, or in a `with`.

    "default"; "force_eager": they run as they are; "eager_on_recompile": so do calls that no
    compiled version fits; "fail_on_recompile": those are an error.
    """

    _STANCES = ("default", "force_eager", "eager_on_recompile", "fail_on_recompile")

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        if stance not in self._STANCES:
            raise RuntimeError(f"invalid torch.compile stance {stance!r}")
        self._stance = self._STANCES.index(stance)
        self._before = _C._dynamo.set_stance(self._stance)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        _C._dynamo.set_stance(self._before)

    def __call__(self, function):
        import functools

        _C._dynamo.set_stance(self._before)

        @functools.wraps(function)
        def inside(*args, **kwargs):
            before = _C._dynamo.set_stance(self._stance)
            try:
                return function(*args, **kwargs)
            finally:
                _C._dynamo.set_stance(before)

        return inside


_disable_dynamo = disable
