"""PyTorch's path of backends: `taeda.compiler._backends`."""

from taeda.compiler._backends import list_backends, lookup_backend, register_backend

__all__ = ["list_backends", "lookup_backend", "register_backend"]
