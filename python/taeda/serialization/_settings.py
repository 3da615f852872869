"""What is set for all files: byte order, checksums, how files are mapped, whether data is written.

`taeda.utils.serialization.config` holds the values.
"""

import contextlib
import threading
from enum import Enum
from mmap import MAP_PRIVATE, MAP_SHARED

from taeda.utils.serialization import config

DEFAULT_PROTOCOL = 2

UNSAFE_MESSAGE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` "
    "from `False` to `True`. Re-running `torch.load` with `weights_only` set to `False` will "
    "likely succeed, but it can result in arbitrary code execution. Do it only if you got the file "
    "from a trusted source."
)


class _SerializationLocal(threading.local):
    """What the functions that reduce and rebuild tensors read while a file is written or read."""

    map_location = None
    skip_data = False
    materialize_fake_tensors = False
    after_storages = None  # a list of what waits for the bytes of tensors


_serialization_tls = _SerializationLocal()


@contextlib.contextmanager
def mapped_locations(map_location):
    """A `with` block in which tensors without storages go where `load` was told to put them."""
    before = _serialization_tls.map_location
    _serialization_tls.map_location = map_location
    try:
        yield
    finally:
        _serialization_tls.map_location = before


@contextlib.contextmanager
def collected_until_storages():
    """A `with` block whose objects leave calls that need the bytes of tensors in a list."""
    before = _serialization_tls.after_storages
    _serialization_tls.after_storages = calls = []
    try:
        yield calls
    finally:
        _serialization_tls.after_storages = before


class LoadEndianness(Enum):
    """The byte order of files that do not tell theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


def get_default_load_endianness():
    """The byte order of files that do not tell theirs; None stands for little-endian."""
    return config.load.endianness


def set_default_load_endianness(endianness):
    """Sets the byte order of files that do not tell theirs."""
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    config.load.endianness = endianness


def get_crc32_options():
    """Whether `save` writes a checksum for each record."""
    return config.save.compute_crc32


def set_crc32_options(compute_crc32):
    """Sets whether `save` writes a checksum for each record; other zip tools miss it."""
    config.save.compute_crc32 = compute_crc32


def get_default_mmap_options():
    """How `load(mmap=True)` maps files: mmap.MAP_PRIVATE or mmap.MAP_SHARED."""
    return config.load.mmap_flags


class set_default_mmap_options:
    """Sets how files are mapped, for good or for a `with` block.

    Writes to tensors of a file mapped with MAP_SHARED reach the file.
    """

    def __init__(self, flags):
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, "
                f"expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got {flags}"
            )
        self.prev = config.load.mmap_flags
        config.load.mmap_flags = flags

    def __enter__(self):
        pass

    def __exit__(self, exc_type, exc_value, traceback):
        config.load.mmap_flags = self.prev


def _get_storage_alignment():
    return config.save.storage_alignment


class skip_data:
    """A `with` block in which `save` leaves the bytes of storages out and `load` reads none.

    Saved files have the space, which somebody fills later; loaded tensors have memory whose values
    are not set. `materialize_fake_tensors` saves fake tensors as if they had memory.
    """

    def __init__(self, materialize_fake_tensors=False):
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self):
        state = _serialization_tls
        self._before = (state.skip_data, state.materialize_fake_tensors)
        state.skip_data = True
        state.materialize_fake_tensors = self.materialize_fake_tensors

    def __exit__(self, type, value, tb):
        state = _serialization_tls
        state.skip_data, state.materialize_fake_tensors = self._before
