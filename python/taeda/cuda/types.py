"""FloatTensor, FloatStorage and the like of CUDA, which a build without it cannot make."""

from taeda import _C
from taeda._tensor_types import NAMES


class _AbsentType(type):
    """Nothing is an instance, and calls are refused."""

    is_cuda, is_sparse = True, False

    def __new__(mcs, name, dtype):
        made = super().__new__(mcs, name, (), {"__module__": "taeda.cuda", "dtype": dtype})
        made.__doc__ = f"Holds numbers of dtype {dtype} on a GPU."
        return made

    def __init__(cls, name, dtype):
        super().__init__(name, (), {})

    def __instancecheck__(cls, value):
        return False

    def __repr__(cls):
        return f"<class 'torch.cuda.{cls.__name__}'>"


class _TensorType(_AbsentType):
    def __call__(cls, *args, **kwargs):
        raise TypeError(
            f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled."
        )


class _StorageType(_AbsentType):
    def __call__(cls, *args, **kwargs):
        raise RuntimeError("Not available for CUDA storage")

    from_buffer = _new_with_weak_ptr = _new_shared_filename = __call__


TYPES = {}
for _name, _kind in NAMES.items():
    _dtype = getattr(_C, _name)
    TYPES[f"{_kind}Storage"] = _StorageType(f"{_kind}Storage", _dtype)
    if not _dtype.is_complex:
        TYPES[f"{_kind}Tensor"] = _TensorType(f"{_kind}Tensor", _dtype)
globals().update(TYPES)
