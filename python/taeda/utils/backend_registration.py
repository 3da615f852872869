"""The name under which a device plug-in is known."""

from taeda import _C

__all__ = ["rename_privateuse1_backend"]


def rename_privateuse1_backend(backend_name):
    """Lets `device="<backend_name>"` stand for the device of the first plug-in slot."""
    _C._rename_privateuse1_backend(backend_name)
