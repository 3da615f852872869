"""Small services beside tensors: names of devices, guards."""

from taeda import _C
from taeda.utils import _mode_utils
from taeda.utils.backend_registration import rename_privateuse1_backend

_C._DisableFuncTorch = _mode_utils._DisableFuncTorch

__all__ = ["_mode_utils", "rename_privateuse1_backend"]
