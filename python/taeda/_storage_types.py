"""FloatStorage, LongStorage and the like: PyTorch's names for a TypedStorage of a dtype.

They are no classes of objects: calling one makes a TypedStorage, and isinstance asks for the dtype.
`Storage` is the one of the default dtype.
"""

from taeda import _C
from taeda._tensor_types import NAMES
from taeda.storage import TypedStorage

__all__ = ["Storage"]

_FORMS = """ received an invalid combination of arguments. Expected one of:
 * no arguments
 * (int size)
 * (Sequence data)
 * (*, UntypedStorage wrap_storage)
"""


class _StorageType(type):
    """The class of all these types; a dtype of None is the default one."""

    def __new__(mcs, name, dtype):
        held = "the default dtype" if dtype is None else f"taeda.{dtype}".replace("torch.", "")
        text = f"A TypedStorage of {held}: of a size, or of the numbers of a sequence."
        return super().__new__(mcs, name, (TypedStorage,), {"__module__": "taeda", "__doc__": text})

    def __init__(cls, name, dtype):
        super().__init__(name, (TypedStorage,), {})
        cls._dtype = dtype

    @property
    def dtype(cls):
        return _C.get_default_dtype() if cls._dtype is None else cls._dtype

    is_cuda = is_sparse = False

    def __instancecheck__(cls, value):
        return isinstance(value, TypedStorage) and value.dtype == cls.dtype

    def __call__(cls, *args, wrap_storage=None, _internal=False, **unknown):
        for name in unknown:
            raise RuntimeError(
                f"{cls}.__new__{_FORMS}Keyword argument '{name}' cannot be specified"
            )
        if len(args) > 1:
            raise RuntimeError(f"{cls}.__new__{_FORMS}Too many positional arguments")
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls.dtype)

    def __repr__(cls):
        return f"<class 'torch.{cls.__name__}'>"


TYPES = {
    f"{kind}Storage": _StorageType(f"{kind}Storage", getattr(_C, n)) for n, kind in NAMES.items()
}
globals().update(TYPES)

Storage = _StorageType("Storage", None)
