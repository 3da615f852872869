"""Storages of an object that is pickled: they are kept beside the pickle, each once."""

import functools
import io

import taeda
from taeda._operator_class import reduced_operator
from taeda.serialization._locations import location_tag
from taeda.serialization._names import find_class, pickle_for_file
from taeda.storage import StorageType, TypedStorage


class StorageTable:
    """Gives every storage a key and remembers it.

    A storage that is seen as numbers of two dtypes is refused: files have one dtype per storage.
    """

    def __init__(self):
        self.storages = {}  # key: (storage, dtype)
        self._keys = {}
        self._dtypes = {}

    def describe(self, obj, make_key=None):
        """(type, key, location, count) of a storage; None for any other object."""
        if isinstance(obj, TypedStorage):
            storage, dtype = obj._untyped_storage, obj.dtype
            storage_type = getattr(taeda, obj.pickle_storage_type())
            count = len(obj)
        elif isinstance(obj, taeda.UntypedStorage):
            storage, dtype, storage_type, count = obj, taeda.uint8, type(obj), obj.nbytes()
        else:
            return None
        self._check_dtype(storage, dtype)
        key = self._keys.get(storage._cdata)
        if key is None:
            key = str(len(self._keys)) if make_key is None else make_key(storage)
            self._keys[storage._cdata] = key
            self.storages[key] = (storage, dtype)
        fake_device = getattr(storage, "_fake_device", None)
        location = location_tag(storage) if fake_device is None else str(fake_device)
        return storage_type, key, location, count

    def _check_dtype(self, storage, dtype):
        if storage.device.type == "meta" or storage.data_ptr() == 0:
            return
        if self._dtypes.setdefault(storage.data_ptr(), dtype) != dtype:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different "
                "types"
            )


@functools.lru_cache(maxsize=8)
def _pickler_class(base):
    inherited = getattr(base, "reducer_override", None)

    class Pickler(base):
        def persistent_id(self, obj):
            return self.describe(obj)

        def reducer_override(self, obj):
            reduced = reduced_operator(obj)
            if reduced is NotImplemented and inherited is not None:
                return inherited(self, obj)
            return reduced

    return Pickler


def pickled(obj, pickle_module, protocol, persistent_id):
    """The pickle of an object, with the names that files have."""
    buffer = io.BytesIO()
    pickler = _pickler_class(pickle_module.Pickler)(buffer, protocol=protocol)
    pickler.describe = persistent_id
    pickler.dump(obj)
    return pickle_for_file(buffer.getvalue())


@functools.lru_cache(maxsize=8)
def _unpickler_class(base):
    class Unpickler(base):
        def find_class(self, module, name):
            if type(name) is str and "Storage" in name:
                try:
                    return StorageType(name)
                except KeyError:
                    pass
            return find_class(super().find_class, module, name)

        def persistent_load(self, saved_id):
            return self.recall(saved_id)

    return Unpickler


def unpickler(pickle_module, file, persistent_load, **arguments):
    """An Unpickler of any module that finds classes under the names that files have."""
    made = _unpickler_class(pickle_module.Unpickler)(file, **arguments)
    made.recall = persistent_load
    return made


def decoded(text):
    """A word of the format, which files of Python 2 have as bytes."""
    return text.decode("ascii") if isinstance(text, bytes) else text


def dtype_of(storage_type):
    """The dtype of what a file names as a storage's class."""
    return taeda.uint8 if storage_type is taeda.UntypedStorage else storage_type.dtype
