"""The kinds of attention kernels, and the switches that say which may be chosen."""

from contextlib import contextmanager
from enum import IntEnum


class SDPBackend(IntEnum):
    """The kinds of kernels of scaled_dot_product_attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __repr__(self):
        return f"<{type(self).__name__}.{self.name}: {self.value}>"


# Those that may be chosen, the first before the others.
_enabled = (
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.OVERRIDEABLE,
)


def enabled_backends():
    """The kinds that may be chosen at present."""
    return _enabled


@contextmanager
def sdpa_kernel(backends, set_priority=False):
    """Inside, attention is computed by kernels of these kinds only.

    `set_priority` asks for the first of them that can be used, in the order given.
    """
    global _enabled
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    wanted = [backends] if isinstance(backends, SDPBackend) else list(dict.fromkeys(backends))
    before = _enabled
    if not set_priority:
        wanted = [backend for backend in before if backend in wanted] + [
            backend for backend in wanted if backend not in before
        ]
    _enabled = tuple(wanted)
    try:
        yield {}
    finally:
        _enabled = before
