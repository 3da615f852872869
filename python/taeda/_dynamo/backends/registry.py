"""PyTorch's path of the table of backends: `taeda.compiler._backends`."""

from taeda.compiler._backends import (
    get_default_backend,
    list_backends,
    lookup_backend,
    register_backend,
    register_debug_backend,
    register_experimental_backend,
    set_default_backend,
)

__all__ = [
    "get_default_backend",
    "list_backends",
    "lookup_backend",
    "register_backend",
    "register_debug_backend",
    "register_experimental_backend",
    "set_default_backend",
]
