"""Apple's GPUs, which this build has no kernels for."""

__all__ = ["is_available", "is_built", "is_macos13_or_newer", "is_macos_or_newer"]


def is_built():
    """Whether this build has MPS kernels."""
    return False


def is_available():
    """Whether there is an MPS device."""
    return False


def is_macos_or_newer(major, minor):
    """Whether this is macOS of at least this version; needs the kernels."""
    raise RuntimeError("Cannot execute isOnMacOSorNewer() without MPS backend.")


def is_macos13_or_newer(minor=0):
    """Whether this is macOS 13 or newer."""
    return is_macos_or_newer(13, minor)
