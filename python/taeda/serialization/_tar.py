"""PyTorch's first files, of 2016: tar archives with a pickle, tensors and storages."""

import io
import struct
import tarfile

import taeda
from taeda.serialization import _container_source
from taeda.serialization._files import located, name_of
from taeda.serialization._locations import _get_restore_location
from taeda.serialization._persistence import unpickler
from taeda.serialization._settings import UNSAFE_MESSAGE
from taeda.storage import TypedStorage

_MARK, _MARK_AT = b"ustar", 257


def is_tar(f):
    """Whether a file is such an archive; it is at its beginning afterwards."""
    f.seek(_MARK_AT)
    mark = f.read(len(_MARK))
    f.seek(0)
    return mark == _MARK


def load(f, map_location, pickle_module, **pickle_load_args):
    """Reads an object; its pickles name classes that only an unrestricted reader makes."""
    if pickle_module is None:
        raise RuntimeError(
            "Cannot use ``weights_only=True`` with files saved in the legacy .tar format. "
            + UNSAFE_MESSAGE
        )
    with (
        located(f, name_of(f)),
        tarfile.open(fileobj=f, mode="r:", format=tarfile.PAX_FORMAT) as tar,
    ):
        storages, tensors, pickle = (_part(tar, f, n) for n in ("storages", "tensors", "pickle"))
    reader = _Reader(map_location, pickle_module, pickle_load_args)
    with storages as file:
        reader.read_storages(file)
    with tensors as file:
        reader.read_tensors(file)
    with pickle as file:
        return unpickler(pickle_module, file, reader.persistent_load, **pickle_load_args).load()


def _part(tar, f, name):
    """The contents of an entry, which know their place in the file."""
    info = tar.getmember(name)
    member = tar.extractfile(info)
    if member is None:
        raise RuntimeError(f"the archive's entry {name} is no file")
    return located(io.BytesIO(member.read()), name_of(f), info.offset_data)


class _Reader:
    def __init__(self, map_location, pickle_module, pickle_load_args):
        self.restore = _get_restore_location(map_location)
        self.pickle_module = pickle_module
        self.arguments = pickle_load_args
        self.objects = {}

    def _next(self, file):
        return unpickler(self.pickle_module, file, self.persistent_load, **self.arguments).load()

    def read_storages(self, file):
        for _ in range(self._next(file)):
            key, location, storage_type = self._next(file)
            dtype = storage_type.dtype
            storage = taeda.UntypedStorage._new_with_file(file, dtype.itemsize)
            self._keep(key, self.restore(storage, location), dtype)
        for key, root_key, offset, numel in self._next(file):
            root = self.objects[root_key]
            size = root.dtype.itemsize
            part = root._untyped_storage[offset * size : (offset + numel) * size]
            self._keep(key, part, root.dtype)

    def _keep(self, key, storage, dtype):
        self.objects[key] = TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)

    def read_tensors(self, file):
        for _ in range(self._next(file)):
            key, storage_key, _ = self._next(file)
            storage = self.objects[storage_key]
            (ndim,) = struct.unpack("<i", file.read(4))
            file.read(4)  # the number had eight bytes once
            size = struct.unpack(f"<{ndim}q", file.read(8 * ndim))
            stride = struct.unpack(f"<{ndim}q", file.read(8 * ndim))
            (offset,) = struct.unpack("<q", file.read(8))
            self.objects[key] = taeda._C._tensor_over(
                storage._untyped_storage, storage.dtype, offset, size, stride
            )

    def persistent_load(self, saved_id):
        if not isinstance(saved_id, tuple):
            return self.objects[int(saved_id)]
        cls, source_file, source = saved_id
        if source_file and source:
            _container_source.check_source(cls, source_file, source)
        return cls
