"""Guards that switch Python dispatch modes and functional transforms off.

Neither exists yet, so there is nothing to switch off: the guards mark the place.
"""

__all__ = ["no_dispatch"]


class no_dispatch:
    """A scope in which no Python dispatch mode sees operators."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


class _DisableFuncTorch(no_dispatch):
    """A scope in which no functional transform sees operators."""
