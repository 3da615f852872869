"""PyTorch's path of the cache of traced programs: Taeda keeps the kernels of programs, on disk."""

from taeda import _C

__all__ = ["AOTAutogradCache"]


class AOTAutogradCache:
    """What is kept of compiled programs."""

    @staticmethod
    def clear():
        """Removes the kernels that were kept."""
        _C._inductor.cache_clear()
