"""Switches of cuDNN, kept for programs that set them; no CPU kernel reads them."""

from contextlib import contextmanager

__all__ = ["flags", "is_available", "version"]

enabled = True
benchmark = False
deterministic = False
allow_tf32 = True
benchmark_limit = 10


def is_available():
    """Whether cuDNN can be used."""
    return False


def version():
    """cuDNN's version, None without it."""
    return None


@contextmanager
def flags(enabled=False, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True):
    """Sets the switches inside a `with`."""
    chosen = {
        "enabled": enabled,
        "benchmark": benchmark,
        "benchmark_limit": benchmark_limit,
        "deterministic": deterministic,
        "allow_tf32": allow_tf32,
    }
    before = {name: globals()[name] for name in chosen}
    globals().update(chosen)
    try:
        yield
    finally:
        globals().update(before)
