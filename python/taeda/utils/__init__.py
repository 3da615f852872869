"""Small services beside tensors: names of devices, guards."""

import os

from taeda import _C
from taeda.utils import _mode_utils
from taeda.utils._swap_tensors import swap_tensors
from taeda.utils.backend_registration import (
    generate_methods_for_privateuse1_backend,
    rename_privateuse1_backend,
)

_C._DisableFuncTorch = _mode_utils._DisableFuncTorch

__all__ = [
    "_mode_utils",
    "cmake_prefix_path",
    "generate_methods_for_privateuse1_backend",
    "rename_privateuse1_backend",
    "swap_tensors",
]

# What CMAKE_PREFIX_PATH wants for find_package(Torch), in projects written for PyTorch.
cmake_prefix_path = os.path.join(os.path.dirname(_C.__file__), "share", "cmake")


# Imported when they are asked for.
_SUBMODULES = (
    "checkpoint",
    "data",
    "deterministic",
    "flop_counter",
    "safetensors",
    "serialization",
)


def __getattr__(name):
    if name in _SUBMODULES:
        from importlib import import_module

        return import_module(f"taeda.utils.{name}")
    raise AttributeError(f"module 'taeda.utils' has no attribute '{name}'")
