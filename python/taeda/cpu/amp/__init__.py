"""Mixed precision on the CPU under PyTorch's deprecated names."""

import warnings

import taeda.amp
from taeda import _C

__all__ = ["GradScaler", "autocast"]


def _deprecated(name):
    warnings.warn(
        f"`torch.cpu.amp.{name}(args...)` is deprecated. "
        f"Please use `torch.amp.{name}('cpu', args...)` instead.",
        FutureWarning,
        stacklevel=3,
    )


class autocast(taeda.amp.autocast):
    """Deprecated form of `taeda.autocast("cpu", ...)`."""

    def __init__(self, enabled=True, dtype=_C.bfloat16, cache_enabled=True):
        _deprecated("autocast")
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(taeda.amp.GradScaler):
    """Deprecated form of `taeda.amp.GradScaler("cpu", ...)`."""

    def __init__(
        self,
        init_scale=2.0**16,
        growth_factor=2.0,
        backoff_factor=0.5,
        growth_interval=2000,
        enabled=True,
    ):
        _deprecated("GradScaler")
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
