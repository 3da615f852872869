"""The threads of CPU kernels."""

__all__ = ["is_available"]


def is_available():
    """Whether CPU kernels run on OpenMP threads."""
    return True
