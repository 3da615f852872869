"""Starts several processes of one function and waits until all end well or one does not."""

import logging
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor

from taeda._C import _multiprocessing

__all__ = [
    "ENV_VAR_PARALLEL_START",
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]

ENV_VAR_PARALLEL_START = "TORCH_MP_PARALLEL_START"
_SECONDS_TO_END = 30

log = logging.getLogger(__name__)


class ProcessException(Exception):  # noqa: N818 -- PyTorch's name
    """A process of start_processes failed: which one, counted from 0, and its process id."""

    __slots__ = ["error_index", "error_pid"]

    def __init__(self, msg, error_index, error_pid):
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = error_pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """The function raised; the message holds the traceback."""


class ProcessExitedException(ProcessException):
    """The process ended by a signal or with an exit code."""

    __slots__ = ["exit_code"]

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self):
        arguments = (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)
        return type(self), arguments


def _end_with_parent():
    """Has this process interrupted when its parent ends, also where it has just ended.

    A shell lets what it starts in the background ignore interrupts: then it is terminated.
    """
    is_ignored = signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    ending = signal.SIGTERM if is_ignored else signal.SIGINT
    _multiprocessing.set_parent_death_signal(ending)
    parent = multiprocessing.parent_process()
    if parent is not None and not parent.is_alive():
        os.kill(os.getpid(), ending)


def _run(fn, i, args, error_file):
    _end_with_parent()
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass  # the parent's end, or a user's: there is nothing to report
    except Exception:
        with open(error_file, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        sys.exit(1)


class ProcessContext:
    """Processes that were started together."""

    def __init__(self, processes, error_files):
        self.error_files = error_files
        self.processes = processes
        self.sentinels = {process.sentinel: i for i, process in enumerate(processes)}

    def pids(self):
        return [int(process.pid) for process in self.processes]

    def join(self, timeout=None, grace_period=None):
        """Waits until a process ends: True when all have, False when some still run.

        When one fails the others are ended (after `grace_period` seconds in which they may end by
        themselves), and the failure is raised.
        """
        if not self.sentinels:
            return True
        failed = None
        for sentinel in multiprocessing.connection.wait(self.sentinels.keys(), timeout=timeout):
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                failed = index
                break
        if failed is None:
            return not self.sentinels
        self._end_all(grace_period)
        self._raise(failed)

    def _wait_for_all(self, seconds):
        end = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(0, end - time.monotonic()))

    def _end_all(self, grace_period):
        if grace_period is not None:
            self._wait_for_all(grace_period)
        for process in self.processes:
            if process.is_alive():
                log.warning("Terminating process %s via signal SIGTERM", process.pid)
                process.terminate()
        self._wait_for_all(_SECONDS_TO_END if grace_period is None else grace_period)
        for process in self.processes:
            if process.is_alive():
                log.warning(
                    "Unable to shutdown process %s via SIGTERM , forcefully exiting via SIGKILL",
                    process.pid,
                )
                process.kill()
            process.join()

    def _raise(self, index):
        process, error_file = self.processes[index], self.error_files[index]
        if os.access(error_file, os.R_OK):
            with open(error_file, "rb") as file:
                original = pickle.load(file)
            os.unlink(error_file)
            message = f"\n\n-- Process {index:d} terminated with the following error:\n{original}"
            raise ProcessRaisedException(message, index, process.pid)
        code, name = process.exitcode, None
        if code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"<Unknown signal {-code}>"
            message = f"process {index:d} terminated with signal {name}"
        else:
            message = f"process {index:d} terminated with exit code {code:d}"
        raise ProcessExitedException(message, index, process.pid, code, name)


class SpawnContext(ProcessContext):
    """The old name of ProcessContext."""

    def __init__(self, processes, error_files):
        warnings.warn("SpawnContext is renamed to ProcessContext since 1.4 release.", stacklevel=2)
        super().__init__(processes, error_files)


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Runs `fn(i, *args)` in `nprocs` processes; with join=False, returns their ProcessContext."""
    context = multiprocessing.get_context(start_method)

    def start(i):
        # A file tells a traceback from other ends; it exists only when the function has raised.
        with tempfile.NamedTemporaryFile(prefix="pytorch-errorfile-", suffix=".pickle") as file:
            error_file = file.name
        process = context.Process(target=_run, args=(fn, i, args, error_file), daemon=daemon)
        process.start()
        return process, error_file

    if start_method == "forkserver" and os.environ.get(ENV_VAR_PARALLEL_START, "0") == "1":
        with ThreadPoolExecutor(max_workers=nprocs) as executor:
            started = list(executor.map(start, range(nprocs)))
    else:
        started = [start(i) for i in range(nprocs)]
    processes = ProcessContext([p for p, _ in started], [f for _, f in started])
    if not join:
        return processes
    while not processes.join():
        pass


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Runs `fn(i, *args)` in `nprocs` fresh interpreters.

    The first failure ends the other processes and is raised here: a ProcessRaisedException with the
    traceback, or a ProcessExitedException with the signal or the exit code.
    """
    if start_method != "spawn":
        warnings.warn(
            f"This method only supports start_method=spawn (got: {start_method}).\n"
            "To use a different start_method use:\n\t\t"
            " torch.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
