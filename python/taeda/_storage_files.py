"""Storages in files: mapped ones, bytes written and read, and how a storage is pickled."""

import io

from taeda import _C


def from_file(cls, filename, shared=False, nbytes=0):
    """The first `nbytes` bytes of a file as memory.

    Writes to a shared one reach the file, which is made, or made longer, where it is needed.
    """
    storage = _C._map_file(filename, shared, nbytes)
    storage._filename = filename
    return storage


def filename(self):
    """The file that was mapped; None for other memory."""
    return getattr(self, "_filename", None)


def _check_has_bytes(self):
    if self.device.type == "meta":
        raise NotImplementedError("Cannot copy out of meta storage; no data!")


def copy_(self, source, non_blocking=None):
    """Takes over the bytes of another storage of this size."""
    if source.nbytes() != self.nbytes():
        raise RuntimeError(
            f"size does not match, self was {self.nbytes()} bytes but src was "
            f"{source.nbytes()} bytes"
        )
    if self.device.type != "meta":
        _check_has_bytes(source)
    _as_bytes(self).copy_(_as_bytes(source))
    return self


def to(self, *, device, non_blocking=False):
    """The storage on a device: itself where it is there already."""
    if not isinstance(device, _C.device):
        device = _C.device(device)
    if self.device == device:
        return self
    _check_has_bytes(self)
    return _as_bytes(self).to(device).untyped_storage()


def cpu(self):
    """The storage on the CPU: itself where it is there already."""
    return to(self, device="cpu")


def untyped(self):
    """Itself."""
    return self


def byteswap(self, dtype):
    """Turns the bytes of every number round."""
    size = dtype.itemsize
    # A complex number is two.
    _C._byteswap(self, size // 2 if dtype.is_complex else size)


def resizable(self):
    """Whether its memory may grow: not that of a file or of another library."""
    try:
        self.resize_(self.nbytes())
    except RuntimeError:
        return False
    return True


def _write_file(self, file, is_real_file, save_size, element_size):
    """The raw form: the number of elements, where wanted, and the bytes."""
    if save_size:
        file.write((self.nbytes() // element_size).to_bytes(8, "little"))
    _C._write_storage(cpu(self), file)


def _set_from_file(self, file, offset, is_real_file, element_size):
    """Fills the storage from the raw form at the file's position, or at `offset`."""
    if offset is not None:
        file.seek(offset)
    count = int.from_bytes(file.read(8), "little", signed=True)
    if count * element_size != self.nbytes():
        raise RuntimeError(
            f"_set_from_file: got {count} elements of {element_size} bytes in the file, expected "
            f"{self.nbytes() // element_size}"
        )
    if self.device.type == "cpu":
        _C._read_storage(self, file)
        return
    read = _C.UntypedStorage(self.nbytes())
    _C._read_storage(read, file)
    copy_(self, read)


def _new_with_file(cls, file, element_size):
    """A storage from the raw form at the file's position."""
    start = file.tell()
    count = int.from_bytes(file.read(8), "little", signed=True)
    end = file.seek(0, 2)
    if count < 0 or count * element_size > end - start:
        raise RuntimeError(
            f"_new_with_file: the file claims {count} elements of {element_size} bytes, more than "
            f"it has after byte {start}"
        )
    file.seek(start)
    storage = _C.UntypedStorage(count * element_size)
    _set_from_file(storage, file, None, True, element_size)
    return storage


def _reduce(self):
    from taeda.serialization import save
    from taeda.storage import _load_from_bytes

    buffer = io.BytesIO()
    save(self, buffer, _use_new_zipfile_serialization=False)
    return _load_from_bytes, (buffer.getvalue(),)


def _as_bytes(storage):
    storage = storage.untyped()
    return _C._tensor_over(storage, _C.uint8, 0, (storage.nbytes(),), (1,))


def install(cls):
    """Adds the methods to UntypedStorage."""
    cls.__module__ = "taeda.storage"  # which files name
    cls.from_file = classmethod(from_file)
    cls._new_with_file = classmethod(_new_with_file)
    cls.filename = property(filename)
    cls.__reduce__ = _reduce
    for method in (copy_, to, cpu, untyped, byteswap, resizable, _write_file, _set_from_file):
        setattr(cls, method.__name__, method)
