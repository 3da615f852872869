"""Numbers about what was compiled since the last reset(), of programs that are alive.

generated_kernel_count: kernels of all plans.
"""

from . import _alive, _numbers

_first = 0


def reset():
    """Counts from here on."""
    global _first
    _first = next(_numbers)


def __getattr__(name):
    if name != "generated_kernel_count":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    programs = [program for program in _alive if program._number >= _first]
    return sum(plan["kernels"] for program in programs for plan in program.report())
