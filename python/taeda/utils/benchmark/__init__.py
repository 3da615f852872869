"""Times of statements: measured in blocks, with their spread, and side by side in a table.

Instead of time, `Timer.collect_callgrind` counts instructions.
"""

from taeda.utils.benchmark._callgrind import CopyIfCallgrind
from taeda.utils.benchmark._function_counts import CallgrindStats, FunctionCount, FunctionCounts
from taeda.utils.benchmark._fuzzer import FuzzedParameter, FuzzedTensor, Fuzzer, ParameterAlias
from taeda.utils.benchmark._measurement import (
    Measurement,
    TaskSpec,
    ordered_unique,
    select_unit,
    set_torch_threads,
    trim_sigfig,
    unit_to_english,
)
from taeda.utils.benchmark._table import Colorize, Compare
from taeda.utils.benchmark._timer import Language, Timer, timer

__all__ = [
    "CallgrindStats",
    "Colorize",
    "Compare",
    "CopyIfCallgrind",
    "FunctionCount",
    "FunctionCounts",
    "FuzzedParameter",
    "FuzzedTensor",
    "Fuzzer",
    "Language",
    "Measurement",
    "ParameterAlias",
    "TaskSpec",
    "Timer",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "timer",
    "trim_sigfig",
    "unit_to_english",
]
