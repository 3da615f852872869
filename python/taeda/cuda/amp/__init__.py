"""Mixed precision on CUDA devices under PyTorch's deprecated names."""

import warnings

import taeda.amp
from taeda import _C, cuda

__all__ = ["GradScaler", "amp_definitely_not_available", "autocast", "custom_bwd", "custom_fwd"]


def _deprecated(call, instead):
    warnings.warn(
        f"`torch.cuda.amp.{call}` is deprecated. Please use `torch.amp.{instead}` instead.",
        FutureWarning,
        stacklevel=3,
    )


class autocast(taeda.amp.autocast):
    """Deprecated form of `taeda.autocast("cuda", ...)`."""

    def __init__(self, enabled=True, dtype=_C.float16, cache_enabled=True):
        _deprecated("autocast(args...)", "autocast('cuda', args...)")
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(taeda.amp.GradScaler):
    """Deprecated form of `taeda.amp.GradScaler("cuda", ...)`."""

    def __init__(
        self,
        init_scale=2.0**16,
        growth_factor=2.0,
        backoff_factor=0.5,
        growth_interval=2000,
        enabled=True,
    ):
        _deprecated("GradScaler(args...)", "GradScaler('cuda', args...)")
        super().__init__(
            "cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )


def custom_fwd(fwd=None, *, cast_inputs=None):
    """Deprecated form of `taeda.amp.custom_fwd(..., device_type="cuda")`."""
    _deprecated("custom_fwd(args...)", "custom_fwd(args..., device_type='cuda')")
    return taeda.amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd):
    """Deprecated form of `taeda.amp.custom_bwd(..., device_type="cuda")`."""
    _deprecated("custom_bwd(args...)", "custom_bwd(args..., device_type='cuda')")
    return taeda.amp.custom_bwd(bwd, device_type="cuda")


def amp_definitely_not_available():
    """Whether no device is there whose gradients are to be scaled."""
    return not cuda.is_available()
