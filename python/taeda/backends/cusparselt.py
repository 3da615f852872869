"""NVIDIA's library of semi-structured products, as a build without it shows it."""

__all__ = ["get_max_alg_id", "is_available", "version"]


def is_available():
    """Whether this build uses cuSPARSELt."""
    return False


def version():
    """The library's version; None without it."""
    return None


def get_max_alg_id():
    """The largest number of an algorithm; None without the library."""
    return None
