"""What a program may ask, and tell, about being compiled."""

import contextlib
import threading

__all__ = [
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "reset",
    "wait",
]


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
    return False


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
    """Forgets compiled programs: wait() waits for later ones alone."""
    from taeda import _inductor

    _inductor._alive.clear()


_disable_dynamo = disable
