"""Guards that switch Python dispatch modes and functional transforms off."""

import contextlib

from taeda import _C

__all__ = ["all_same_mode", "no_dispatch"]


@contextlib.contextmanager
def no_dispatch():
    """A scope in which operators go to neither modes nor classes with `__torch_dispatch__`."""
    with _C._DisableTorchDispatch():
        yield


def all_same_mode(modes):
    """Whether all of them are one."""
    return all(mode == modes[0] for mode in modes)


class _DisableFuncTorch:
    """Marks a scope that functional transforms need not see; they do nothing more there yet."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None
