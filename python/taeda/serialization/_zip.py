"""Checkpoints as PyTorch's zip archives: a pickle, and the bytes of each storage beside it."""

import io
import os
import sys
from mmap import MAP_SHARED

import taeda
from taeda import _C
from taeda.serialization._files import located
from taeda.serialization._locations import _get_restore_location, _is_meta_location
from taeda.serialization._persistence import (
    StorageTable,
    decoded,
    dtype_of,
    pickled,
    unpickler,
)
from taeda.serialization._safe_globals import Rules
from taeda.serialization._settings import (
    LoadEndianness,
    _get_storage_alignment,
    _serialization_tls,
    get_default_load_endianness,
    get_default_mmap_options,
    mapped_locations,
)
from taeda.storage import TypedStorage
from taeda.utils.serialization import config

# A record's bytes are followed by its checksum and sizes, of 32 or 64 bits.
_AFTER_RECORD, _AFTER_WIDE_RECORD, _WIDE = 16, 24, 0xFFFFFFFF


def save(obj, zip_file, pickle_module, pickle_protocol, disable_byteorder_record):
    """Writes an object's pickle and storages as records."""
    table = StorageTable()

    def persistent_id(value):
        described = table.describe(value)
        return None if described is None else ("storage", *described)

    data = pickled(obj, pickle_module, pickle_protocol, persistent_id)
    zip_file.write_record("data.pkl", data, len(data))
    alignment = str(_get_storage_alignment())
    zip_file.write_record(".format_version", "1", 1)
    zip_file.write_record(".storage_alignment", alignment, len(alignment))
    if not disable_byteorder_record:
        zip_file.write_record("byteorder", sys.byteorder, len(sys.byteorder))
    for key, (storage, _) in table.storages.items():
        nbytes = storage.nbytes()
        if _serialization_tls.skip_data:
            zip_file.write_record_metadata(f"data/{key}", nbytes)
        else:
            zip_file.write_record(f"data/{key}", storage.cpu(), nbytes)


def load(zip_file, map_location, pickle_module, mapped_path=None, **pickle_load_args):
    """Reads an object; `pickle_module` is None where only weights may be loaded."""
    reader = _Reader(zip_file, map_location, mapped_path)
    pickle = zip_file.get_record("data.pkl")
    place = zip_file._place("data.pkl")
    with mapped_locations(map_location):
        if pickle_module is None:
            rules = Rules(reader.persistent_load, pickle_load_args["encoding"])
            return _C._restricted_load(pickle, rules, *place)
        with located(io.BytesIO(pickle), *place) as file:
            return unpickler(pickle_module, file, reader.persistent_load, **pickle_load_args).load()


class _Reader:
    """Finds the storages that a pickle names."""

    def __init__(self, zip_file, map_location, mapped_path):
        self.zip_file = zip_file
        self.restore = _get_restore_location(map_location)
        self.is_meta = _is_meta_location(map_location)
        self.loaded = {}
        self.must_swap = self._must_swap()
        self.places = _Places(zip_file)
        self.mapped = self._map(mapped_path)

    def _must_swap(self):
        if self.zip_file.has_record("byteorder"):
            order = self.zip_file.get_record("byteorder")
            if order not in (b"little", b"big"):
                name, start = self.zip_file._place("byteorder")
                raise ValueError(
                    f"Unknown endianness type: {order.decode(errors='replace')} (at byte {start} "
                    f"of {name})"
                )
            return order.decode() != sys.byteorder
        default = get_default_load_endianness() or LoadEndianness.LITTLE
        return default != LoadEndianness.NATIVE and default.name.lower() != sys.byteorder

    def _map(self, path):
        if path is None:
            return None
        is_shared = get_default_mmap_options() == MAP_SHARED
        return taeda.UntypedStorage.from_file(path, is_shared, os.path.getsize(path))

    def persistent_load(self, saved_id):
        if not isinstance(saved_id, tuple):
            raise AssertionError(f"saved_id must be a tuple, got {type(saved_id).__name__}")
        kind, *rest = saved_id
        if decoded(kind) != "storage":
            raise AssertionError(
                "Unknown typename for persistent_load, expected 'storage' but got "
                f"'{decoded(kind)}'"
            )
        storage_type, key, location, numel = rest
        if key not in self.loaded:
            self.loaded[key] = self._load(dtype_of(storage_type), numel, key, decoded(location))
        return self.loaded[key]

    def _load(self, dtype, numel, key, location):
        nbytes = numel * dtype.itemsize
        fake_mode = taeda._C._fx.active_fake_mode()
        if fake_mode is not None or self.is_meta:
            storage = self._without_bytes(key, nbytes)
        else:
            storage = self._bytes(key, numel, dtype)
            if self.must_swap:
                storage = self._swapped(storage, dtype)
        if fake_mode is not None:
            storage._fake_device = location
        elif not self.is_meta:
            storage = self.restore(storage, location)
        return TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)

    def _without_bytes(self, key, nbytes):
        name = f"data/{key}"
        self.zip_file._checked_size(name, nbytes)
        storage = taeda.UntypedStorage(nbytes, device="meta")
        storage._checkpoint_offset = self.zip_file.get_record_offset(name)
        return storage

    def _bytes(self, key, numel, dtype):
        name, nbytes = f"data/{key}", numel * dtype.itemsize
        if _serialization_tls.skip_data:
            self.zip_file._checked_size(name, nbytes)
            return taeda.UntypedStorage(nbytes)
        if self.mapped is None:
            return self.zip_file.get_storage_from_record(name, numel, dtype).untyped_storage()
        if config.load.calculate_storage_offsets and self.places.can_compute:
            start = self.places.compute(key, nbytes)
            return self.mapped[start : start + nbytes]
        return self.zip_file._mapped_storage(
            self.mapped, name, nbytes, config.load.check_mapped_crc32
        )

    def _swapped(self, storage, dtype):
        # A shared file must not change because it was read.
        storage = storage.clone() if self.mapped is not None else storage
        storage.byteswap(dtype)
        return storage


class _Places:
    """Where storages are, computed from their sizes in the order of their keys."""

    def __init__(self, zip_file):
        self.zip_file = zip_file
        self.can_compute = zip_file.has_record(".format_version")
        self.alignment = 64
        if zip_file.has_record(".storage_alignment"):
            self.alignment = self._alignment()
        self._next_header = None
        self._known = {}

    def _alignment(self):
        text = self.zip_file.get_record(".storage_alignment")
        try:
            return int(text)
        except ValueError:
            name, start = self.zip_file._place(".storage_alignment")
            raise ValueError(
                f"the storage alignment is no number: got {text!r} (at byte {start} of {name})"
            ) from None

    def compute(self, key, nbytes):
        if key in self._known:
            return self._known[key]
        name = f"data/{key}"
        if self._next_header is None:
            header = self.zip_file.get_record_header_offset(name)
            start = self.zip_file.get_record_offset(name)
        else:
            header = self._next_header
            start = self.zip_file.get_record_offset_no_read(header, name, nbytes, self.alignment)
        self._known[key] = start
        self._next_header = start + nbytes
        if nbytes > 0:
            is_wide = header >= _WIDE or nbytes >= _WIDE
            self._next_header += _AFTER_WIDE_RECORD if is_wide else _AFTER_RECORD
        return start
