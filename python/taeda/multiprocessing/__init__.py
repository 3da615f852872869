"""Processes that see the same tensors: Python's multiprocessing, with tensors in shared memory.

Everything that `multiprocessing` has is here too. What is sent through a queue, a pipe or a pool,
or given to a process, moves to shared memory, and both sides see each other's writes.
"""

import multiprocessing
from multiprocessing import *

from taeda._C import _multiprocessing
from taeda._C._multiprocessing import get_thread_name as _get_thread_name
from taeda._C._multiprocessing import set_parent_death_signal as _prctl_pr_set_pdeathsig
from taeda._C._multiprocessing import set_thread_name as _set_thread_name
from taeda.multiprocessing import reductions
from taeda.multiprocessing.spawn import (
    ENV_VAR_PARALLEL_START,
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [
    "ENV_VAR_PARALLEL_START",
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "reductions",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]
__all__ += multiprocessing.__all__

_all_sharing_strategies = {"file_descriptor", "file_system"}
_sharing_strategy = "file_descriptor"


def get_all_sharing_strategies():
    """The ways to hand memory to another process: by an open file, or by the name of one."""
    return _all_sharing_strategies


def get_sharing_strategy():
    """The way in which tensors on the CPU are shared now."""
    return _sharing_strategy


def set_sharing_strategy(new_strategy):
    """Chooses a way: each tensor holds a descriptor open, or each has a name in /dev/shm."""
    global _sharing_strategy
    if new_strategy not in _all_sharing_strategies:
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of {_all_sharing_strategies}"
        )
    _sharing_strategy = new_strategy


reductions.init_reductions()
