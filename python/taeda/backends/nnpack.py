"""NNPACK, a library of convolutions; CPU kernels do without it, its switch is kept."""

from contextlib import contextmanager

__all__ = ["flags", "is_available", "set_flags"]

_is_enabled = True


def is_available():
    """Whether this build uses NNPACK."""
    return False


def set_flags(_enabled):
    """Sets the switch; returns what it was, in a tuple."""
    global _is_enabled
    before = (_is_enabled,)
    _is_enabled = _enabled
    return before


@contextmanager
def flags(enabled=False):
    """Sets the switch inside a `with`."""
    before = set_flags(enabled)
    try:
        yield
    finally:
        set_flags(*before)
