"""Child processes that run odd calls, bounded in time and memory, and tell which call was at fault.

A child takes a run of calls and writes the number of the present one into shared memory, which tells
the parent the call that ended the child. It may take a gigabyte of address space, so that a huge
allocation is an error and not a burden.
"""

import ast
import dataclasses
import mmap
import os
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings

import odd_lines
from odd_callables import OddCallable

CHILD_CALLS = 2_000
CHILD_BYTES = 2**30


@dataclasses.dataclass
class Finding:
    number: int
    text: str
    callee: str
    reason: str

    def kind(self):
        return self.callee, self.reason.split(":")[0]


def limit_process():
    """Bounds this process's memory and keeps it from writing core files and to the terminal."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open("/proc/self/statm") as f:
        taken = int(f.read().split()[0]) * mmap.PAGESIZE
    resource.setrlimit(resource.RLIMIT_AS, (taken + CHILD_BYTES,) * 2)
    quiet = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(quiet, descriptor)
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(1_000)


def in_own_process(run):
    """Forks; the child runs `run` and leaves. Returns its process id."""
    pid = os.fork()
    if pid == 0:
        try:
            run()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return pid


class Child:
    """A process that runs the calls from `first` to before `last`, each for so many seconds."""

    def __init__(self, calls, first, last, seconds):
        self.calls, self.first, self.last, self.seconds = calls, first, last, seconds
        self.place = mmap.mmap(-1, 8)
        self.report = tempfile.TemporaryFile()  # noqa: SIM115 (closed with this object)
        self.number, self.since = first, time.monotonic()
        self.write_number(first)
        self.pid = in_own_process(self._run)

    def write_number(self, number):
        struct.pack_into("<q", self.place, 0, number)

    def read_number(self):
        return struct.unpack_from("<q", self.place, 0)[0]

    def _run(self):
        limit_process()
        for number in range(self.first, self.last):
            self.write_number(number)
            text, odd = self.calls[number]
            if odd.changes_process:
                self._run_apart(number, text)
            else:
                self._run_here(number, text)
        self.write_number(self.last)

    def _run_here(self, number, text):
        reason = odd_lines.complaint(text)
        if reason is not None:
            os.write(self.report.fileno(), f"{number}\t{reason!r}\n".encode())

    def _run_apart(self, number, text):
        """Runs the call in a grandchild; ends as that ended, if by a signal."""
        _, status = os.waitpid(in_own_process(lambda: self._run_here(number, text)), 0)
        if os.WIFSIGNALED(status):
            os.kill(os.getpid(), os.WTERMSIG(status))

    def finished(self):
        """Whether the process has ended; ends it if its present call takes too long."""
        pid, self.status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            return True
        number, now = self.read_number(), time.monotonic()
        if number != self.number:
            self.number, self.since = number, now
        elif now - self.since > self.seconds:
            os.kill(self.pid, signal.SIGKILL)
            _, self.status = os.waitpid(self.pid, 0)
            return True
        return False

    def findings(self):
        """What the ended process reported, and the call that ended it, if one did."""
        self.report.seek(0)
        for line in self.report.read().decode().splitlines():
            number, reason = line.split("\t")
            yield self._finding(int(number), ast.literal_eval(reason))
        if self.status != 0:
            yield self._finding(self.read_number(), self._ending())

    def _finding(self, number, reason):
        text, odd = self.calls[number]
        return Finding(number, text, odd.text, reason)

    def _ending(self):
        if not os.WIFSIGNALED(self.status):
            return f"ended its process with status {os.waitstatus_to_exitcode(self.status)}"
        name = signal.Signals(os.WTERMSIG(self.status)).name
        return f"took longer than {self.seconds:g} s" if name == "SIGKILL" else f"crashed: {name}"

    def rest(self):
        """The first call that is still to run."""
        return self.last if self.status == 0 else self.read_number() + 1


def run_calls(calls, first, count, jobs, seconds):
    """Runs calls in up to `jobs` processes at a time; yields findings as they come."""
    end = first + count
    pending = [(i, min(i + CHILD_CALLS, end)) for i in range(first, end, CHILD_CALLS)][::-1]
    running = []
    while pending or running:
        while pending and len(running) < jobs:
            running.append(Child(calls, *pending.pop(), seconds))
        for child in [child for child in running if child.finished()]:
            running.remove(child)
            yield from child.findings()
            if child.rest() < child.last:
                pending.append((child.rest(), child.last))
        time.sleep(0.01)


def run_line(text, seconds):
    """The finding of one line in a process of its own, or None."""
    return next(run_calls([(text, OddCallable(text, ()))], 0, 1, 1, seconds), None)
