"""oneDNN and tensors of its layout, which no operator here takes; switches are kept."""

from contextlib import contextmanager

__all__ = ["flags", "is_available", "set_flags", "verbose"]

VERBOSE_OFF = 0
VERBOSE_ON = 1
VERBOSE_ON_CREATION = 2

enabled = True
deterministic = False
allow_tf32 = True


def is_available():
    """Whether tensors of oneDNN's layout can be made."""
    return False


class verbose:
    """Lets oneDNN tell of its calls inside a `with`; there are none."""

    def __init__(self, level):
        self.level = level

    def __enter__(self):
        if self.level != VERBOSE_OFF:
            raise RuntimeError("Failed to set MKLDNN into verbose mode: this build has no MKLDNN")
        return self

    def __exit__(self, *exception):
        return False


def set_flags(_enabled=None, _deterministic=None, _allow_tf32=None, _fp32_precision="none"):
    """Sets the switches that are given; returns what they were."""
    global enabled, deterministic, allow_tf32
    before = (enabled, deterministic, allow_tf32)
    enabled = before[0] if _enabled is None else _enabled
    deterministic = before[1] if _deterministic is None else _deterministic
    allow_tf32 = before[2] if _allow_tf32 is None else _allow_tf32
    return before


@contextmanager
def flags(enabled=False, deterministic=False, allow_tf32=True, fp32_precision="none"):
    """Sets the switches inside a `with`."""
    before = set_flags(enabled, deterministic, allow_tf32)
    try:
        yield
    finally:
        set_flags(*before)
