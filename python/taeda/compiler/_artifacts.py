"""Compiled kernels as bytes: saved by one process, loaded by another for a warm start.

A file of artifacts is a header, a table of sizes, then keys and blobs: what the folder of compiled
kernels (docs/compiler.md) holds of the entries that this process used. Kernels are code: load only
bytes from a place that you would run a program from.
"""

import dataclasses
import hashlib
import struct

from taeda import _C

__all__ = ["CacheInfo", "load_cache_artifacts", "save_cache_artifacts"]

_MAGIC = b"taeda.kernels\x00\x01\x00"
_HEAD = struct.Struct("<16sQ32s")  # magic, number of entries, digest of all that follows
_ROW = struct.Struct("<QQ")  # sizes of a key and its blob


@dataclasses.dataclass
class CacheInfo:
    """What was saved or loaded: digests of the keys, by kind of cache."""

    artifacts: dict = dataclasses.field(default_factory=dict)

    @property
    def inductor_artifacts(self):
        """Digests of the keys of compiled kernels."""
        return self.artifacts.get("inductor", [])

    @property
    def autotune_artifacts(self):
        return []

    @property
    def aot_autograd_artifacts(self):
        return []

    @property
    def pgo_artifacts(self):
        return []

    @property
    def precompile_artifacts(self):
        return []

    def empty(self):
        """Whether there is nothing."""
        return not any(self.artifacts.values())


def _info(keys):
    return CacheInfo({"inductor": [hashlib.sha256(key).hexdigest() for key in keys]})


def save_cache_artifacts():
    """The kernels that programs of this process were compiled to: (bytes, CacheInfo).

    None where there are none. It waits for kernels that are being compiled.
    """
    from taeda.compiler import _process_start, wait

    wait()
    _, _, entries = _C._inductor.cache_entries()
    # An entry that is found or stored is the youngest.
    names = sorted(name for name, _, used in entries if used >= _process_start)
    found = [content for content in map(_C._inductor.cache_content, names) if content]
    if not found:
        return None
    table = b"".join(_ROW.pack(len(key), len(blob)) for key, blob in found)
    body = table + b"".join(part for content in found for part in content)
    head = _HEAD.pack(_MAGIC, len(found), hashlib.sha256(body).digest())
    return head + body, _info(key for key, _ in found)


def _refuse(problem):
    raise RuntimeError(f"load_cache_artifacts: these are no artifacts of taeda: {problem}")


def _parts(data):
    """Keys and blobs, once everything about the bytes is right."""
    if len(data) < _HEAD.size:
        _refuse(f"{len(data)} bytes are too few")
    magic, count, digest = _HEAD.unpack_from(data)
    if magic != _MAGIC:
        _refuse("they begin otherwise")
    body = memoryview(data)[_HEAD.size :]
    if hashlib.sha256(body).digest() != digest:
        _refuse("the checksum is wrong")
    if count * _ROW.size > len(body):
        _refuse("the table is cut off")
    rows = [_ROW.unpack_from(body, i * _ROW.size) for i in range(count)]
    place = count * _ROW.size
    if place + sum(map(sum, rows)) != len(body):
        _refuse("the sizes do not add up")
    parts = []
    for sizes in rows:
        key, blob = body[place : place + sizes[0]], body[place + sizes[0] : place + sum(sizes)]
        parts.append((bytes(key), bytes(blob)))
        place += sum(sizes)
    return parts


def load_cache_artifacts(serialized_artifacts):
    """Puts saved kernels into the folder of compiled kernels; a CacheInfo of what was loaded.

    Programs that are compiled later find them there. Bytes that are cut off or changed are refused,
    and nothing of them is stored.
    """
    if not isinstance(serialized_artifacts, (bytes, bytearray, memoryview)):
        raise TypeError(f"artifacts are bytes, not {type(serialized_artifacts).__name__}")
    parts = _parts(bytes(serialized_artifacts))
    for key, blob in parts:
        _C._inductor.cache_store(key, blob)
    return _info(key for key, _ in parts)
