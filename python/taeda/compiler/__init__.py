"""What a program may ask, and tell, about being compiled."""

import contextlib
import time
from _thread import _local

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
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "keep_portable_guards_unsafe",
    "keep_tensor_guards_unsafe",
    "list_backends",
    "load_cache_artifacts",
    "nested_compile_region",
    "reset",
    "save_cache_artifacts",
    "set_default_backend",
    "set_enable_guard_collectives",
    "set_stance",
    "skip_all_guards_unsafe",
    "skip_guard_on_all_nn_modules_unsafe",
    "skip_guard_on_globals_unsafe",
    "skip_guard_on_inbuilt_nn_modules_unsafe",
    "substitute_in_graph",
    "wait",
    "wrap_numpy",
]

_PARTS = {
    "_artifacts": ("load_cache_artifacts", "save_cache_artifacts"),
    "_backends": ("get_default_backend", "list_backends", "set_default_backend"),
    "_compile": ("compile",),
    "_explain": ("explain",),
    "_guards": (
        "keep_portable_guards_unsafe",
        "keep_tensor_guards_unsafe",
        "skip_all_guards_unsafe",
        "skip_guard_on_all_nn_modules_unsafe",
        "skip_guard_on_globals_unsafe",
        "skip_guard_on_inbuilt_nn_modules_unsafe",
    ),
    "_marks": ("allow_in_graph", "assume_constant_result", "substitute_in_graph"),
    "_numpy": ("wrap_numpy",),
    "_regions": ("nested_compile_region",),
    "_stance": ("set_stance",),
}
_LAZY = {name: part for part, names in _PARTS.items() for name in names}


def __getattr__(name):
    from importlib import import_module

    if name not in _LAZY:
        raise AttributeError(f"module 'taeda.compiler' has no attribute '{name}'")
    return getattr(import_module(f"taeda.compiler.{_LAZY[name]}"), name)


def __dir__():
    return sorted({*globals(), *__all__})


# What was used in a folder since then may have been used by this process.
_process_start = time.time() - 1


class _Now(_local):
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


def disable(fn=None, recursive=True, *, reason=None):
    """A function that compilers call as it is; also a decorator, with or without arguments.

    Functions that were compiled run as they are inside, too, unless `recursive` is False. `reason`
    is for readers.
    """
    from taeda.compiler._marks import disable

    return disable(fn, recursive, reason=reason)


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
    from taeda.compiler._compile import forget_all

    forget_all()
    _inductor._alive.clear()


def graph_break(msg=""):
    """A place at which a capture ends; what follows is another graph."""


def cudagraph_mark_step_begin():
    """The beginning of a step, where memory of the former may be used again; nothing to do here."""


def set_enable_guard_collectives(enabled):
    """Whether processes agree on what they compile; there is one here. Returns the former value."""
    return False


_disable_dynamo = disable
