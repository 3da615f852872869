"""Frames between the main process and a worker: two pipes, and what each side does with its ends.

A frame is a header and a payload of bytes. The main process never waits for a pipe that is full:
what does not fit is kept, and written when the worker has read. A worker's end is the end of its
pipe.
"""

import os
import select
import struct
import weakref
from collections import deque
from multiprocessing import connection

__all__ = ["MainEnd", "WorkerEnd", "channel"]

_HEADER = struct.Struct("<Iqq")  # payload's size, kind, number
_READ_AT_ONCE = 1 << 16

_main_ends = weakref.WeakSet()


def channel():
    """Both ends of a new channel."""
    to_worker = connection.Pipe(duplex=False)
    from_worker = connection.Pipe(duplex=False)
    return MainEnd(from_worker[0], to_worker[1]), WorkerEnd(to_worker[0], from_worker[1])


def _frame(kind, number, payload):
    return _HEADER.pack(len(payload), kind, number) + payload


class MainEnd:
    """Sends tasks to one worker and reads its results; neither call waits."""

    def __init__(self, reader, writer):
        self._reader, self._writer = reader, writer
        os.set_blocking(reader.fileno(), False)
        os.set_blocking(writer.fileno(), False)
        self._unsent = deque()
        self._received = bytearray()
        _main_ends.add(self)

    def reading_fileno(self):
        return self._reader.fileno()

    def writing_fileno(self):
        return self._writer.fileno()

    @property
    def has_unsent(self):
        return bool(self._unsent)

    def send(self, kind, number, payload=b""):
        self._unsent.append(memoryview(_frame(kind, number, payload)))
        self.flush()

    def flush(self):
        """Writes what the pipe takes; a worker that is gone is noticed where one reads."""
        try:
            while self._unsent:
                written = os.write(self._writer.fileno(), self._unsent[0])
                if written == len(self._unsent[0]):
                    self._unsent.popleft()
                else:
                    self._unsent[0] = self._unsent[0][written:]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self._unsent.clear()

    def receive(self):
        """The frames that are here: (kind, number, payload); EOFError when the worker is gone."""
        try:
            data = os.read(self._reader.fileno(), _READ_AT_ONCE)
        except BlockingIOError:
            return []
        if not data:
            raise EOFError
        self._received += data
        buffer, start, frames = self._received, 0, []
        while len(buffer) - start >= _HEADER.size:
            size, kind, number = _HEADER.unpack_from(buffer, start)
            end = start + _HEADER.size + size
            if len(buffer) < end:
                break
            frames.append((kind, number, bytes(buffer[start + _HEADER.size : end])))
            start = end
        del buffer[:start]
        return frames

    def close(self):
        """The worker reads the end of its tasks, and cannot write any more."""
        _main_ends.discard(self)
        self._reader.close()
        self._writer.close()


def _close_in_child():
    # A worker must not hold the pipes of another open: the end of a process would go unnoticed.
    for end in list(_main_ends):
        end.close()


os.register_at_fork(after_in_child=_close_in_child)


class WorkerEnd:
    """Reads tasks and sends results; both calls wait. It travels with a worker's arguments."""

    def __init__(self, reader, writer):
        self._reader, self._writer = reader, writer

    def receive(self, is_main_alive, interval):
        """The next frame; EOFError when the main process has closed its end or is gone."""
        poll = select.poll()
        poll.register(self._reader.fileno(), select.POLLIN)
        while not poll.poll(interval * 1000):
            if not is_main_alive():
                raise EOFError
        size, kind, number = _HEADER.unpack(self._read(_HEADER.size))
        return kind, number, self._read(size)

    def _read(self, size):
        parts = []
        while size:
            part = os.read(self._reader.fileno(), size)
            if not part:
                raise EOFError
            parts.append(part)
            size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def send(self, kind, number, payload=b""):
        """BrokenPipeError when nobody reads any more."""
        rest = memoryview(_frame(kind, number, payload))
        while rest:
            rest = rest[os.write(self._writer.fileno(), rest) :]

    def close(self):
        self._reader.close()
        self._writer.close()
