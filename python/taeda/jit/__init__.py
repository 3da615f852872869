"""PyTorch's names of TorchScript, as they act there with PYTORCH_JIT=0: functions stay Python.

Decorators hand their function back, annotations mean nothing, and a program asks `is_scripting` as
ever. What needs a script's own form, saving and loading among it, is missing; `taeda.export` writes
programs to files, `taeda.compile` makes them fast.
"""

import functools
from typing import Any, Final, TypeVar

from taeda.jit import annotations
from taeda.nn import Module

__all__ = [
    "Attribute",
    "Final",
    "ScriptFunction",
    "ScriptModule",
    "annotate",
    "export",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "script",
    "script_if_tracing",
    "script_method",
    "trace",
    "unused",
]

_T = TypeVar("_T")


class ScriptModule(Module):
    """The class of modules that were scripted; none are."""


class ScriptFunction:
    """The class of functions that were scripted; none are."""


class RecursiveScriptModule(ScriptModule):
    """The class of modules that were scripted with what they hold; none are."""


class Attribute:
    """A value with its type for a script; an attribute of a module keeps the pair as it is."""

    def __init__(self, value, type):
        self.value, self.type = value, type


def is_scripting():
    """Whether a script runs; never."""
    return False


def is_tracing():
    """Whether TorchScript records this call; never."""
    return False


def script(
    obj, optimize=None, _frames_up=0, _rcb=None, example_inputs: list[tuple] | None = None
) -> Any:
    """The function, module or class itself."""
    return obj


def trace(func, example_inputs=None, *args, **kwargs):
    """The function or module itself."""
    return func


def script_method(fn):
    """The method itself."""
    return fn


def script_if_tracing(fn):
    """The function itself, with its name."""

    @functools.wraps(fn)
    def call(*args, **kwargs):
        return fn(*args, **kwargs)

    return call


_script_if_tracing = script_if_tracing


def interface(obj):
    """The class itself."""
    return obj


def export(fn):
    """The method itself."""
    return fn


def unused(fn):
    """The function itself."""
    return fn


def ignore(drop=False, **kwargs):
    """The function itself; with arguments, what decorates one."""
    return drop if callable(drop) else lambda fn: fn


def _overload_method(func):
    """A form of a method that only a script would read."""
    return func


_overload = _overload_method


def _get_tracing_state():
    """The record that TorchScript makes; None."""
    return None


def annotate(the_type: type[_T], the_value: _T) -> _T:
    """The value."""
    return the_value


def _is_one(obj, target):
    import types
    import typing
    from builtins import isinstance as is_instance

    origin, parts = typing.get_origin(target), typing.get_args(target)
    if target is Any:
        return True
    if origin in (typing.Union, types.UnionType):
        return any(_is_one(obj, part) for part in parts)
    if origin is list:
        return is_instance(obj, list) and all(_is_one(item, parts[0]) for item in obj)
    if origin is dict:
        return is_instance(obj, dict) and all(
            _is_one(key, parts[0]) and _is_one(value, parts[1]) for key, value in obj.items()
        )
    if origin is tuple:
        return (
            is_instance(obj, tuple)
            and len(obj) == len(parts)
            and all(_is_one(item, part) for item, part in zip(obj, parts, strict=True))
        )
    return is_instance(obj, origin or target)


def isinstance(obj, target_type):
    """Whether a value has a type; of `list[int]` and the like, each element too."""
    from builtins import isinstance as is_instance

    targets = target_type if is_instance(target_type, tuple) else (target_type,)
    return any(_is_one(obj, target) for target in targets)
