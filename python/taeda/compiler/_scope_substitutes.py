"""What captures enter in place of questions about themselves, and of scopes without modes."""

import contextlib

from taeda import _C, compiler

__all__ = ["SUBSTITUTES"]


def _yes():
    return True


def _no():
    return False


def _without_modes():
    """A program that is captured has no dispatch modes."""
    return contextlib.nullcontext()


SUBSTITUTES = {
    compiler.is_dynamo_compiling: _yes,
    compiler.is_compiling: _yes,
    compiler.is_exporting: _no,
    _C._DisableTorchDispatch: _without_modes,
}
