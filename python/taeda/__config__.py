"""How this build was made, as texts for reports."""

import platform

import taeda
from taeda import _C

__all__ = ["parallel_info", "show"]


def show():
    """The version, the compiler and the vector instructions that kernels were chosen for."""
    return (
        "Taeda built with:\n"
        f"  - {_C._compiler()}, C++20\n"
        f"  - machine: {platform.machine()}\n"
        f"  - CPU capability usage: {_C._get_cpu_capability()}\n"
        f"  - version: {taeda._version.__version__}\n"
    )


def parallel_info():
    """How many threads operators use."""
    return f"threads of an operator: {taeda.get_num_threads()}\n"
