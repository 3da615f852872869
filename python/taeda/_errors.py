"""Exceptions of devices, for programs that catch them."""


class OutOfMemoryError(RuntimeError):
    """A device has no memory left for a tensor."""


class AcceleratorError(RuntimeError):
    """An accelerator has failed."""


class LinAlgError(RuntimeError):
    """A factorization found no answer: the matrix is singular."""


OutOfMemoryError.__module__ = AcceleratorError.__module__ = "taeda"
LinAlgError.__module__ = "taeda.linalg"
