"""The stream that PyTorch wrote before its archives: pickles one after the other, then storages."""

import struct
import sys

import taeda
from taeda import _C
from taeda.serialization import _container_source
from taeda.serialization._files import _check_seekable, _is_real_file, located, name_of
from taeda.serialization._locations import _get_restore_location
from taeda.serialization._persistence import (
    StorageTable,
    decoded,
    dtype_of,
    pickled,
    unpickler,
)
from taeda.serialization._safe_globals import Rules, refuse_persistent
from taeda.serialization._settings import (
    _serialization_tls,
    collected_until_storages,
    mapped_locations,
)
from taeda.storage import TypedStorage

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001


def save(obj, f, pickle_module, pickle_protocol):
    """Writes an object to an open file."""
    table = StorageTable()
    classes = set()

    def persistent_id(value):
        if isinstance(value, type) and issubclass(value, taeda.nn.Module):
            if value in classes:
                return None
            classes.add(value)
            return ("module", value, *_container_source.source_of(value))
        described = table.describe(value, make_key=lambda storage: str(storage._cdata))
        # The last place was for views of storages, which are gone.
        return None if described is None else ("storage", *described, None)

    system = {
        "protocol_version": PROTOCOL_VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {
            "short": struct.calcsize("=h"),
            "int": struct.calcsize("=i"),
            "long": struct.calcsize("=l"),
        },
    }
    for header in (MAGIC_NUMBER, PROTOCOL_VERSION, system):
        pickle_module.dump(header, f, protocol=pickle_protocol)
    f.write(pickled(obj, pickle_module, pickle_protocol, persistent_id))
    keys = sorted(table.storages)
    pickle_module.dump(keys, f, protocol=pickle_protocol)
    f.flush()
    for key in keys:
        storage, dtype = table.storages[key]
        storage._write_file(f, _is_real_file(f), True, dtype.itemsize)


def load(f, map_location, pickle_module, **pickle_load_args):
    """Reads an object; `pickle_module` is None where only weights may be loaded."""
    _check_seekable(f)
    if _is_real_file(f) and f.tell() == 0:
        from taeda.serialization import _tar

        if _tar.is_tar(f):
            return _tar.load(f, map_location, pickle_module, **pickle_load_args)
    reader = _Reader(f, map_location)
    encoding = pickle_load_args["encoding"]

    def load_next(persistent_load=refuse_persistent):
        if pickle_module is None:
            return _C._restricted_load(f, Rules(persistent_load, encoding), name_of(f), f.tell())
        with located(f, name_of(f)):
            if persistent_load is refuse_persistent:
                return pickle_module.load(f, **pickle_load_args)
            return unpickler(pickle_module, f, persistent_load, **pickle_load_args).load()

    magic_number = load_next()
    with located(f, name_of(f)):
        if magic_number != MAGIC_NUMBER:
            raise RuntimeError("Invalid magic number; corrupt file?")
    version = load_next()
    with located(f, name_of(f)):
        if version != PROTOCOL_VERSION:
            raise RuntimeError(f"Invalid protocol version: {version}")
    load_next()  # the system that wrote the file
    with mapped_locations(map_location), collected_until_storages() as calls:
        result = load_next(reader.persistent_load)
    keys = load_next()
    with located(f, name_of(f)):
        if reader.fill(keys):
            for call in calls:
                call()
    return result


class _Reader:
    """Makes the storages that a pickle names, and fills them when the pickle is read."""

    def __init__(self, f, map_location):
        self.f = f
        self.restore = _get_restore_location(map_location)
        self.storages = {}  # key: (storage of the CPU, its place, dtype)
        self.views = {}
        self.available = _size_of(f)

    def persistent_load(self, saved_id):
        if not isinstance(saved_id, tuple):
            raise AssertionError(f"saved_id must be a tuple, got {type(saved_id).__name__}")
        kind, *data = saved_id
        if decoded(kind) == "module":
            source_class, source_file, source = data
            if source_file and source:
                _container_source.check_source(source_class, source_file, source)
            return source_class
        if decoded(kind) != "storage":
            raise RuntimeError(f"Unknown saved id type: {kind}")
        storage_type, key, location, numel, view = data
        if key not in self.storages:
            self.storages[key] = self._new(dtype_of(storage_type), numel, decoded(location))
        typed = self.storages[key]
        return typed if view is None else self._view(typed, view)

    def _new(self, dtype, numel, location):
        nbytes = numel * dtype.itemsize
        if self.available is not None:
            # All claims together: each byte of the file belongs to one storage.
            if not 0 <= nbytes <= self.available:
                raise RuntimeError(
                    f"the file claims a storage of {nbytes} bytes, more than the {self.available} "
                    "that are left in it"
                )
            self.available -= nbytes
        if _C._fx.active_fake_mode() is not None:
            storage = taeda.UntypedStorage(nbytes, device="meta")
            storage._fake_device = location
        else:
            storage = self.restore(taeda.UntypedStorage(nbytes), location)
        return TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)

    def _view(self, typed, view):
        key, offset, numel = view
        if key not in self.views:
            size = typed.dtype.itemsize
            part = typed._untyped_storage[offset * size : (offset + numel) * size]
            self.views[key] = TypedStorage(wrap_storage=part, dtype=typed.dtype, _internal=True)
        return self.views[key]

    def fill(self, keys):
        """Reads the bytes of the storages; False where they are not wanted."""
        if _C._fx.active_fake_mode() is not None or _serialization_tls.skip_data:
            return False
        for key in keys:
            if key not in self.storages:
                raise AssertionError(f"storage key {key!r} not found in deserialized_objects")
            typed = self.storages[key]
            typed._untyped_storage._set_from_file(
                self.f, None, _is_real_file(self.f), typed.dtype.itemsize
            )
        return True


def _size_of(f):
    """How many bytes a file has; None where only decompressing would tell."""
    if getattr(f, "__module__", None) == "gzip":
        return None
    position = f.tell()
    f.seek(0, 2)
    size = f.tell()
    f.seek(position)
    return size
