"""Runs work in a process of its own, so that a crash or a hang becomes a row."""

import json
import os
import select
import signal
import time
from collections.abc import Callable

from parity.report import Row, one_line


def isolated(work: Callable[[], list[Row]], timeout: float) -> list[Row]:
    """The rows that `work` returns in a fork, or one that says how it ended."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _answer(work, writer)
    os.close(writer)
    try:
        text = _read_until(reader, time.monotonic() + timeout)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    finally:
        os.close(reader)
    if text is None:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if text is None:
        return [Row.failed("all", f"no answer in {timeout:g} s")]
    if os.WIFSIGNALED(status):
        return [Row.failed("all", f"crashed with signal {os.WTERMSIG(status)}")]
    return [Row(*row) for row in json.loads(text)]


def _answer(work: Callable[[], list[Row]], writer: int) -> None:
    """The child: writes the rows and ends without what a process does at its exit."""
    try:
        rows = work()
    except BaseException as error:
        rows = [Row.failed("all", one_line(error))]
    with os.fdopen(writer, "w") as file:
        json.dump(rows, file)
    os._exit(0)


def _read_until(reader: int, end: float) -> bytes | None:
    """All that comes through the pipe; None when it is still open at `end`."""
    chunks = []
    while True:
        ready, _, _ = select.select([reader], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            return None
        chunk = os.read(reader, 1 << 16)
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)
