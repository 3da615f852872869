"""What is kept of programs that are traced: their kernels, on disk."""

from taeda import _C

__all__ = ["AOTAutogradCache"]


class AOTAutogradCache:
    """What is kept of compiled programs."""

    @staticmethod
    def clear():
        """Removes the kernels that were kept."""
        _C._inductor.cache_clear()
