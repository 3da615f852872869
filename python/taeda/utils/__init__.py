"""Small services beside tensors: names of devices, guards."""

from taeda import _C
from taeda.utils import _mode_utils
from taeda.utils.backend_registration import rename_privateuse1_backend

_C._DisableFuncTorch = _mode_utils._DisableFuncTorch

__all__ = ["_mode_utils", "rename_privateuse1_backend"]


def __getattr__(name):
    if name in ("checkpoint", "flop_counter"):
        from importlib import import_module

        return import_module(f"taeda.utils.{name}")
    raise AttributeError(f"module 'taeda.utils' has no attribute '{name}'")
