"""What captures enter in place of questions about themselves, and of scopes without modes."""

import contextlib
import types

import taeda
from taeda import _C, compiler
from taeda.compiler._compile import compile as _compile_natively

__all__ = ["SUBSTITUTES"]


def _yes():
    return True


def _no():
    return False


def _without_modes():
    """A program that is captured has no dispatch modes."""
    return contextlib.nullcontext()


def _call_unasked(func, types, args=(), kwargs=None):
    """What a class that is not asked answers."""
    with _C.DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def _compile(model=None, **settings):
    """A function that a captured program compiles is captured with it; modules get wrappers."""
    if model is None:
        return lambda model: _compile(model, **settings)
    if not isinstance(model, types.FunctionType) or settings.get("disable"):
        taeda._dynamo.graph_break()
    return model


SUBSTITUTES = {
    _compile_natively: _compile,
    compiler.is_dynamo_compiling: _yes,
    compiler.is_compiling: _yes,
    compiler.is_exporting: _no,
    _C._DisableTorchDispatch: _without_modes,
    _C._disabled_torch_function_impl: _call_unasked,
}
