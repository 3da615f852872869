"""Files of records: length, checksum of the length, bytes, checksum of the bytes.

A file grows by whole records. Where the disk refuses, it is cut back to the last whole one, and
what was to be written stays for the next attempt; so a reader finds records, and at worst one that
is cut off where the process was killed inside of a write.
"""

import os
import struct

from taeda._C import _crc32c


def _masked(payload):
    """The checksum as the format has it, turned so that a checksum of checksums is not 0."""
    crc = _crc32c(payload)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def framed(payload):
    length = struct.pack("<Q", len(payload))
    return b"".join((length, _masked(length), payload, _masked(payload)))


class RecordFile:
    """A new file that records are appended to; `flush` writes those that wait."""

    def __init__(self, path):
        self.path = path
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115
        self._pending = []

    def append(self, payload):
        self._pending.append(framed(payload))

    def __len__(self):
        """Records that wait."""
        return len(self._pending)

    def flush(self):
        if not self._pending:
            return
        whole = self._file.seek(0, os.SEEK_END)
        left = memoryview(b"".join(self._pending))
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError:
            self._file.truncate(whole)
            raise
        self._pending.clear()

    def close(self):
        if not self._file.closed:
            try:
                self.flush()
            finally:
                self._file.close()
