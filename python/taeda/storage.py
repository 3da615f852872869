"""TypedStorage: the memory behind a tensor read as numbers of one dtype."""

import warnings

from taeda import _C
from taeda._C import UntypedStorage
from taeda._tensor_types import new_of_dtype

__all__ = ["TypedStorage", "UntypedStorage"]

_is_said = False


def warn_deprecated():
    """Said once per process."""
    global _is_said
    if not _is_said:
        _is_said = True
        warnings.warn(
            "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will "
            "be the only storage class. This should only matter to you if you are using storages "
            "directly.  To access UntypedStorage directly, use tensor.untyped_storage() instead of "
            "tensor.storage()",
            UserWarning,
            stacklevel=3,
        )


class TypedStorage:
    """An UntypedStorage read as numbers of a dtype: a given one, or one of a size or of data."""

    def __init__(self, *args, wrap_storage=None, dtype=None, device=None):
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

    def share_memory_(self):
        self._untyped_storage.share_memory_()
        return self

    def fill_(self, value):
        self._tensor().fill_(value)
        return self

    def tolist(self):
        return self._tensor().tolist()

    def __len__(self):
        return self._untyped_storage.nbytes() // self.element_size()

    def __getitem__(self, index):
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        return self._tensor()[index].item()

    def __setitem__(self, index, value):
        if not isinstance(index, (int, slice)):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
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
