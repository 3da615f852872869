"""Small services beside tensors: names of devices, guards."""

import os

from taeda import _C

__all__ = [
    "_mode_utils",
    "cmake_prefix_path",
    "generate_methods_for_privateuse1_backend",
    "rename_privateuse1_backend",
    "set_module",
    "swap_tensors",
]

# What CMAKE_PREFIX_PATH wants for find_package(Torch), in projects written for PyTorch.
cmake_prefix_path = os.path.join(os.path.dirname(_C.__file__), "share", "cmake")


def set_module(obj, mod):
    """Sets the module that an object says it is of."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


# Names that live in modules of their own, loaded when first asked for.
_LAZY = {
    "generate_methods_for_privateuse1_backend": "backend_registration",
    "rename_privateuse1_backend": "backend_registration",
    "swap_tensors": "_swap_tensors",
}


def __getattr__(name):
    from importlib import import_module

    if name in _LAZY:
        value = getattr(import_module(f"taeda.utils.{_LAZY[name]}"), name)
        globals()[name] = value
        return value
    try:
        return import_module(f"taeda.utils.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"taeda.utils.{name}":
            raise
    raise AttributeError(f"module 'taeda.utils' has no attribute '{name}'")
