"""The processor that CPU kernels run on."""

from taeda import _C

__all__ = ["get_cpu_capability"]


def get_cpu_capability():
    """The instruction set that kernels were chosen for: DEFAULT, AVX2 or AVX512."""
    return _C._get_cpu_capability()
