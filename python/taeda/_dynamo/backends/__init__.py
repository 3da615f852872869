"""PyTorch's path of backends: `taeda.compiler._backends`."""

from taeda._dynamo.backends import common, debugging, registry
from taeda.compiler._backends import list_backends, lookup_backend, register_backend

__all__ = [
    "common",
    "debugging",
    "list_backends",
    "lookup_backend",
    "register_backend",
    "registry",
]
