"""TypedStorage: the memory behind a tensor read as numbers of one dtype."""

import io
import warnings

from taeda import _C
from taeda._C import UntypedStorage
from taeda._tensor_types import NAMES, new_of_dtype

__all__ = ["TypedStorage", "UntypedStorage"]

_is_said = False
_is_always_said = False


def _get_always_warn_typed_storage_removal():
    return _is_always_said


def _set_always_warn_typed_storage_removal(always_warn):
    """Whether the warning comes at every use."""
    global _is_always_said
    if not isinstance(always_warn, bool):
        raise AssertionError(f"always_warn must be bool, got {type(always_warn)}")
    _is_always_said = always_warn


def warn_deprecated():
    """Said once per process, unless it is to be said always."""
    global _is_said
    if not _is_said or _is_always_said:
        _is_said = True
        warnings.warn(
            "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will "
            "be the only storage class. This should only matter to you if you are using storages "
            "directly.  To access UntypedStorage directly, use tensor.untyped_storage() instead of "
            "tensor.storage()",
            UserWarning,
            stacklevel=3,
        )


def _dtype_to_storage_type_map():
    """The names of storage types by dtype."""
    return dict(_STORAGE_NAMES)


def _storage_type_to_dtype_map():
    """Dtypes by the names of their storage types."""
    return dict(_DTYPES)


# The dtypes that have a storage type, which files name.
_STORAGE_NAMES = {getattr(_C, name): f"{kind}Storage" for name, kind in NAMES.items()}
_DTYPES = {name: dtype for dtype, name in _STORAGE_NAMES.items()}


def has_storage_type(dtype):
    """Whether files have a name for storages of this dtype; others are stored as bytes."""
    return dtype in _STORAGE_NAMES


def pickled_dtypes():
    """Every dtype that a file may name."""
    return {value for value in vars(_C).values() if isinstance(value, _C.dtype)}


class StorageType:
    """What a file names in place of a storage's class: FloatStorage and the like."""

    def __init__(self, name):
        self._dtype = _DTYPES[name]

    @property
    def dtype(self):
        return self._dtype

    def __str__(self):
        return f"StorageType(dtype={self.dtype})"


StorageType.__module__ = "taeda.serialization"


def _load_from_bytes(b):
    """A storage from what its `__reduce__` gave."""
    from taeda.serialization import load

    return load(io.BytesIO(b), weights_only=False)


class TypedStorage:
    """An UntypedStorage read as numbers of a dtype: a given one, or one of a size or of data."""

    def __init__(self, *args, wrap_storage=None, dtype=None, device=None, _internal=False):
        if wrap_storage is None:
            self.dtype = _C.get_default_dtype() if dtype is None else dtype
            numbers = new_of_dtype(self.dtype, args)
            self._untyped_storage = numbers.to(device or numbers.device).untyped_storage()
            return
        if args:
            raise RuntimeError("No positional arguments should be given when using 'wrap_storage'")
        if dtype is None:
            raise RuntimeError("Argument 'dtype' must be specified")
        if not isinstance(wrap_storage, UntypedStorage):
            raise TypeError(
                f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}"
            )
        self._untyped_storage = wrap_storage
        self.dtype = dtype

    def _tensor(self):
        """The numbers as a tensor over the same memory."""
        whole = _C.empty(0, dtype=self.dtype, device=self.device)
        return whole.set_(self._untyped_storage)

    @property
    def device(self):
        return self._untyped_storage.device

    @property
    def _cdata(self):
        return self._untyped_storage._cdata

    @property
    def is_cuda(self):
        return self.device.type == "cuda"

    @property
    def is_sparse(self):
        return False

    def untyped(self):
        return self._untyped_storage

    def element_size(self):
        return self.dtype.itemsize

    def size(self):
        return len(self)

    def nbytes(self):
        return self._untyped_storage.nbytes()

    def data_ptr(self):
        return self._untyped_storage.data_ptr()

    def resize_(self, size):
        self._untyped_storage.resize_(size * self.element_size())

    def is_shared(self):
        return self._untyped_storage.is_shared()

    def is_pinned(self, device=None):
        return self._untyped_storage.is_pinned(device)

    def pin_memory(self, device=None):
        return self._of(self._untyped_storage.pin_memory(device))

    def share_memory_(self):
        self._untyped_storage.share_memory_()
        return self

    def copy_(self, source, non_blocking=None):
        if source.device.type == "meta" and self.device.type != "meta":
            raise NotImplementedError("Cannot copy out of meta storage; no data!")
        self._tensor().copy_(source._tensor() if isinstance(source, TypedStorage) else source)
        return self

    def clone(self):
        return self._of(self._untyped_storage.clone())

    def cpu(self):
        return self._of(self._untyped_storage.cpu())

    def to(self, *, device, non_blocking=False):
        return self._of(self._untyped_storage.to(device=device))

    def type(self, dtype=None, non_blocking=False):
        """The name of the storage type; with a dtype or its storage type, the numbers in it."""
        if dtype is None:
            kind = self.pickle_storage_type()
            device = "" if self.device.type == "cpu" else f"{self.device.type}."
            return f"torch.{device}{kind}"
        if isinstance(dtype, str):
            dtype = _DTYPES[dtype.rpartition(".")[2]]
        elif not isinstance(dtype, _C.dtype):
            dtype = dtype.dtype
        return self._to_dtype(dtype)

    def _to_dtype(self, dtype):
        if dtype == self.dtype:
            return self
        numbers = self._tensor().to(dtype)
        return TypedStorage(wrap_storage=numbers.untyped_storage(), dtype=dtype, _internal=True)

    def _of(self, untyped):
        return TypedStorage(wrap_storage=untyped, dtype=self.dtype, _internal=True)

    # The names that PyTorch's own code uses, which do not warn of the deprecation.

    def _size(self):
        return self.size()

    def _nbytes(self):
        return self.nbytes()

    def _data_ptr(self):
        return self.data_ptr()

    def _element_size(self):
        return self.element_size()

    def _resize_(self, size):
        self.resize_(size)

    def _is_shared(self):
        return self.is_shared()

    def _share_memory_(self):
        return self.share_memory_()

    def _setitem(self, index, value):
        self[index] = value

    def _getitem(self, index):
        return self[index]

    def _deepcopy(self, memo):
        return self.__deepcopy__(memo)

    def _share_fd_cpu_(self):
        return self._untyped_storage._share_fd_cpu_()

    def _share_filename_cpu_(self):
        return self._untyped_storage._share_filename_cpu_()

    def _write_file(self, file, is_real_file, save_size, element_size):
        self._untyped_storage._write_file(file, is_real_file, save_size, element_size)

    @classmethod
    def from_file(cls, filename, shared, size):
        """The first `size` numbers of a file as memory; of a subclass such as FloatStorage."""
        if cls is TypedStorage:
            raise RuntimeError("from_file can only be called on derived classes")
        untyped = UntypedStorage.from_file(filename, shared, size * cls.dtype.itemsize)
        return TypedStorage(wrap_storage=untyped, dtype=cls.dtype, _internal=True)

    def pickle_storage_type(self):
        """The name that files have for a storage of this dtype."""
        if self.dtype not in _STORAGE_NAMES:
            raise KeyError(f"dtype {self.dtype} is not recognized")
        return _STORAGE_NAMES[self.dtype]

    _pickle_storage_type = pickle_storage_type

    def __reduce__(self):
        from taeda.serialization import save

        buffer = io.BytesIO()
        save(self, buffer, _use_new_zipfile_serialization=False)
        return _load_from_bytes, (buffer.getvalue(),)

    def __copy__(self):
        return self.clone()

    def __deepcopy__(self, memo):
        from copy import deepcopy

        return self._of(deepcopy(self._untyped_storage, memo))

    def fill_(self, value):
        self._tensor().fill_(value)
        return self

    def _check_readable(self):
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device: the storage has no memory")

    def tolist(self):
        self._check_readable()
        return self._tensor().tolist()

    def __len__(self):
        return self._untyped_storage.nbytes() // self.element_size()

    def __getitem__(self, index):
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        self._check_readable()
        return self._tensor()[index].item()

    def __setitem__(self, index, value):
        if not isinstance(index, (int, slice)):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        self._check_readable()
        self._tensor()[index] = value

    def __iter__(self):
        return iter(self.tolist())

    def __eq__(self, other):
        if not isinstance(other, TypedStorage):
            return NotImplemented
        return self.dtype == other.dtype and self._untyped_storage == other._untyped_storage

    def __hash__(self):
        return hash((self._untyped_storage, self.dtype))

    def __repr__(self):
        numbers = "".join(f" {value}\n" for value in self)
        kind = f"dtype={self.dtype}, device={self.device}"
        return f"{numbers}[torch.storage.TypedStorage({kind}) of size {len(self)}]"


def _cast_method(name, dtype):
    def cast(self):
        return self._to_dtype(dtype)

    cast.__name__ = name
    cast.__doc__ = f"The numbers as a storage of dtype {dtype}."
    return cast


for _dtype, _kind in _STORAGE_NAMES.items():
    _method = {"ComplexFloat": "complex_float", "ComplexDouble": "complex_double"}.get(
        _kind.removesuffix("Storage"), _kind.removesuffix("Storage").lower()
    )
    setattr(TypedStorage, _method, _cast_method(_method, _dtype))
