"""Apple's GPUs, which this build has no kernels for."""

__all__ = ["is_available", "is_built"]


def is_built():
    """Whether this build has MPS kernels."""
    return False


def is_available():
    """Whether there is an MPS device."""
    return False
