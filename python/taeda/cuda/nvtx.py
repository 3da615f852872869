"""Marks for NVIDIA's profilers, which need a build with CUDA."""

from contextlib import contextmanager

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def _refuse():
    raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


def mark(msg):
    """Marks a moment."""
    _refuse()


def range_push(msg):
    """Begins a range inside the one that is open; gives its depth."""
    _refuse()


def range_pop():
    """Ends the innermost range; gives its depth."""
    _refuse()


def range_start(msg):
    """Begins a range that `range_end` ends; gives its number."""
    _refuse()


def range_end(range_id):
    """Ends a range."""
    _refuse()


@contextmanager
def range(msg, *args, **kwargs):
    """A range around what is inside the `with`, or around a function's calls."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
