"""Guards that switch Python dispatch modes and functional transforms off."""

from taeda.utils._python_dispatch import _disable_current_modes

__all__ = ["no_dispatch"]


def no_dispatch():
    """A scope in which no Python dispatch mode sees operators."""
    return _disable_current_modes()


class _DisableFuncTorch:
    """Marks a scope that functional transforms need not see; they do nothing more there yet."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None
