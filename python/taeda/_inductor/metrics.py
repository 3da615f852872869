"""Numbers about what was compiled since the last reset().

generated_kernel_count: kernels of all plans. Of programs that were compiled before this module was
imported, those that are alive count.
"""

import contextlib
import weakref

from . import _alive, _numbers

_first = 0
_kernels_of_the_dead = 0
_records = []


def reset():
    """Counts from here on."""
    global _first, _kernels_of_the_dead
    _first = next(_numbers)
    _kernels_of_the_dead = 0


def _count(plan):
    from ._report import complete

    return sum(part["kernels"] for part in complete(plan))


def _keep_count(plan, number):
    global _kernels_of_the_dead
    if number >= _first:
        _kernels_of_the_dead += _count(plan)


def note(program):
    """Counts a program when it is gone, too: a backward is compiled when it first runs."""
    weakref.finalize(program, _keep_count, program._plan, program._number).atexit = False
    for record in _records:
        record.append(program)


@contextlib.contextmanager
def recorded():
    """A list of the programs that are compiled inside."""
    record = []
    _records.append(record)
    try:
        yield record
    finally:
        # By its place: lists of the same programs are equal.
        del _records[next(i for i, one in enumerate(_records) if one is record)]


for _program in list(_alive):
    note(_program)


def __getattr__(name):
    if name != "generated_kernel_count":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    plans = [program._plan for program in list(_alive) if program._number >= _first]
    return _kernels_of_the_dead + sum(map(_count, plans))
