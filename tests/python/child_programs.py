"""Programs of tests that end badly: run with a deadline, and asked afterwards what they left behind."""

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

from under_test import NAME

DEADLINE = 120  # seconds: far more than any of them takes

HEAD = f"""
import os, signal, sys, time
import {NAME} as t
import {NAME}.multiprocessing as mp
from {NAME}.utils.data import DataLoader, Dataset, IterableDataset

class Faulty(Dataset):
    def __len__(self): return 40
    def __getitem__(self, i):
        self.fault(i)
        return t.full((4,), float(i))
    def fault(self, i): pass
"""


def listen_to_interrupts():
    """In a child before it begins: a shell lets what it starts in the background ignore them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Child:
    """A program with a mark in its environment, which its own children inherit."""

    def __init__(self, body, **options):
        self.mark = f"TAEDA_CHILD={uuid.uuid4().hex}"
        name, value = self.mark.split("=")
        self.process = subprocess.Popen(
            [sys.executable, "-c", HEAD + body],
            env={**os.environ, name: value},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=listen_to_interrupts,
            **options,
        )

    def end(self):
        """Waits for the end; returns the exit code, the output and the errors."""
        try:
            out, err = self.process.communicate(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            out, err = self.process.communicate()
            raise AssertionError(f"the program did not end:\n{out}\n{err}") from None
        return self.process.returncode, out, err

    def left(self):
        """Processes that still run after a while."""
        deadline = time.monotonic() + 20
        while (found := self._running()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return found

    def _running(self):
        found = []
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            try:
                if self.mark.encode() not in (folder / "environ").read_bytes():
                    continue
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            except (OSError, IndexError):
                continue
            if state != "Z":
                found.append(int(folder.name))
        return found


def leaked_names():
    """Names in /dev/shm of processes that are gone, looked for while they become fewer."""
    deadline = time.monotonic() + 20
    while (found := _dead_names()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def _dead_names():
    names = []
    for entry in Path("/dev/shm").iterdir():
        parts = entry.name.split("_")
        if parts[0] == "torch" and not Path("/proc", parts[1]).exists():
            names.append(entry.name)
    return names


def run(body, **options):
    """Exit code, output and errors of a program that leaves neither processes nor names."""
    child = Child(body, **options)
    result = child.end()
    assert child.left() == []
    assert leaked_names() == []
    return result
