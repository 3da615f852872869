"""The kinds of attention kernels, and the switches that say which may be chosen."""

from contextlib import contextmanager
from enum import Enum

from taeda import _C


class SDPBackend(Enum):
    """The kinds of kernels of scaled_dot_product_attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self):
        return self.value

    __index__ = __int__


# The order in which PyTorch tries the kinds. On the CPU it does not matter: there, as in PyTorch,
# FLASH_ATTENTION goes before MATH.
_priority = (
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.OVERRIDEABLE,
)
_SWITCHES = {
    SDPBackend.CUDNN_ATTENTION: (_C._get_cudnn_sdp_enabled, _C._set_sdp_use_cudnn),
    SDPBackend.FLASH_ATTENTION: (_C._get_flash_sdp_enabled, _C._set_sdp_use_flash),
    SDPBackend.EFFICIENT_ATTENTION: (
        _C._get_mem_efficient_sdp_enabled,
        _C._set_sdp_use_mem_efficient,
    ),
    SDPBackend.MATH: (_C._get_math_sdp_enabled, _C._set_sdp_use_math),
    SDPBackend.OVERRIDEABLE: (_C._get_overrideable_sdp_enabled, _C._set_sdp_use_overrideable),
}


def _cur_sdpa_kernel_backends(with_priority=False):
    """The kinds that may be chosen at present, in the order of priority if that is asked for."""
    order = _priority if with_priority else _SWITCHES
    return [backend for backend in order if _SWITCHES[backend][0]()]


@contextmanager
def sdpa_kernel(backends, set_priority=False):
    """Inside, attention is computed by kernels of these kinds only.

    `set_priority` sets the order in which devices with several fused kernels try them.
    """
    global _priority
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    wanted = [backends] if isinstance(backends, SDPBackend) else list(dict.fromkeys(backends))
    before, enabled = _priority, _cur_sdpa_kernel_backends()
    _enable(wanted)
    if set_priority:
        _priority = (*wanted, *(backend for backend in before if backend not in wanted))
    try:
        yield {}
    finally:
        _enable(enabled)
        _priority = before


def _enable(backends):
    for backend, (_, set_enabled) in _SWITCHES.items():
        set_enabled(backend in backends)
