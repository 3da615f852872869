"""Exceptions of devices, for programs that catch them."""


class OutOfMemoryError(RuntimeError):
    """A device has no memory left for a tensor."""


class AcceleratorError(RuntimeError):
    """An accelerator has failed."""


OutOfMemoryError.__module__ = AcceleratorError.__module__ = "taeda"
