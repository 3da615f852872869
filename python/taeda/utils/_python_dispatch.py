"""Dispatch modes: objects that take every operator call below autograd while they are active.

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            print(func)
            return func(*args, **(kwargs or {}))

    with Log():
        x + x

The innermost mode gets the call and is off while it runs; what it calls goes to the next one out.
Modes of the library (tracing, fake tensors) stand outside all others, whatever was entered first.
A mode that returns NotImplemented leaves the call to the classes of its arguments.
"""

import contextlib
import warnings
from _thread import _local

from taeda._C import (
    _get_dispatch_stack_at,
    _len_torch_dispatch_stack,
    _pop_torch_dispatch_stack,
    _push_on_torch_dispatch_stack,
)
from taeda.utils._wrapper_subclass import (
    is_traceable_wrapper_subclass,
    is_traceable_wrapper_subclass_type,
    return_and_correct_aliasing,
    transform_subclass,
)

__all__ = [
    "BaseTorchDispatchMode",
    "TorchDispatchMode",
    "any_torch_dispatch_mode_on_stack",
    "is_in_torch_dispatch_mode",
    "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type",
    "return_and_correct_aliasing",
    "transform_subclass",
]


class _Entered(_local):
    """How many `with mode:` blocks this thread is in, whether or not a handler is running."""

    all = 0
    own = 0  # without those of the library


_entered = _Entered()


def is_in_torch_dispatch_mode(include_infra_modes=True):
    """Whether this thread is inside a `with mode:`, also while the mode's handler runs."""
    return (_entered.all if include_infra_modes else _entered.own) > 0


@contextlib.contextmanager
def _counted_as_entered():
    """A scope in which the library is inside modes of its own that C++ entered."""
    _entered.all += 1
    try:
        yield
    finally:
        _entered.all -= 1


class TorchDispatchMode:
    """Base of dispatch modes; a mode may be entered more than once."""

    supports_higher_order_operators = False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Called in place of the operator `func`; its result is the operator's result."""
        raise NotImplementedError

    def __enter__(self):
        _push_mode(self)
        _entered.all += 1
        _entered.own += not self.is_infra_mode()
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        _entered.all -= 1
        _entered.own -= not self.is_infra_mode()
        _pop_torch_dispatch_stack(self)

    @classmethod
    def push(cls, *args, **kwargs):
        """A mode, to be entered with `with`; the class itself does as well."""
        warnings.warn(
            "`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`",
            stacklevel=2,
        )
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls):
        """Whether the mode belongs to the library rather than to its user."""
        return False

    @classmethod
    def ignore_compile_internals(cls):
        """Whether compiled regions may run without showing their operators to the mode."""
        return cls.is_infra_mode()


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that passes everything on."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def any_torch_dispatch_mode_on_stack():
    """Whether a mode waits for calls."""
    return _len_torch_dispatch_stack() > 0


def _push_mode(mode):
    _push_on_torch_dispatch_stack(mode)


def _pop_mode():
    return _pop_torch_dispatch_stack()


def _get_current_dispatch_mode():
    """The innermost mode, None without one."""
    count = _len_torch_dispatch_stack()
    return _get_dispatch_stack_at(count - 1) if count else None


def _get_current_dispatch_mode_stack():
    """The modes of this thread, innermost last."""
    return [_get_dispatch_stack_at(i) for i in range(_len_torch_dispatch_stack())]


@contextlib.contextmanager
def enable_python_dispatcher():
    """A scope in which kernels written in Python act. They act outside of it too: there is one
    dispatcher, which asks them as it asks others."""
    yield


@contextlib.contextmanager
def _pop_mode_temporarily():
    """A scope without the innermost mode, which it gives."""
    mode = _pop_mode()
    try:
        yield mode
    finally:
        _push_mode(mode)


@contextlib.contextmanager
def _disable_current_modes():
    """A scope without modes; gives those that are off, innermost first."""
    modes = [_pop_mode() for _ in range(_len_torch_dispatch_stack())]
    try:
        yield modes
    finally:
        for mode in reversed(modes):
            _push_mode(mode)
