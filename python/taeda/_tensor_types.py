"""FloatTensor, LongTensor and the like: PyTorch's names for a dtype on the CPU.

They are no classes of objects: calling one makes a tensor of its dtype, and isinstance asks for
the dtype.
"""

import warnings

from taeda import _C

NAMES = {
    "float32": "Float",
    "float64": "Double",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "uint8": "Byte",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "bool": "Bool",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}


class _TensorType(type):
    """The class of all these types (PyTorch's tensortype)."""

    def __new__(mcs, name, dtype):
        made = super().__new__(mcs, name, (), {"__module__": "taeda", "dtype": dtype})
        made.__doc__ = f"Makes tensors of dtype {dtype}, as Tensor does of the default one."
        return made

    def __init__(cls, name, dtype):
        super().__init__(name, (), {})

    is_cuda = is_sparse = False

    def __instancecheck__(cls, value):
        return (
            isinstance(value, _C.Tensor) and value.dtype == cls.dtype and value.device.type == "cpu"
        )

    def __call__(cls, *args, device=None):
        if device is not None and _C.device(device).type != "cpu":
            raise RuntimeError(
                "legacy constructor expects device type: cpu but device type: "
                f"{_C.device(device).type} was passed"
            )
        return new_of_dtype(cls.dtype, args)

    def __repr__(cls):
        return f"<class 'torch.{cls.__name__}'>"


def new_of_dtype(dtype, args):
    """An uninitialized tensor of a size, or one of the given data, which may be another tensor."""
    if len(args) == 1 and isinstance(args[0], _C.Size):
        return _C.empty(args[0], dtype=dtype)
    if len(args) != 1 or isinstance(args[0], int):
        return _C.empty(*(args or (0,)), dtype=dtype)
    (data,) = args
    if isinstance(data, _C.Tensor):
        if data.dtype != dtype:
            raise TypeError(f"expected a tensor of dtype {dtype}, got {data.dtype}")
        return data.detach()
    if hasattr(data, "untyped") and not isinstance(data, _C.Tensor):
        return _C.tensor(data, dtype=dtype)  # over the storage's memory
    if not hasattr(data, "__len__") or isinstance(data, (str, bytes)):
        raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
    return _converted(data, dtype)


def _converted(data, dtype):
    """Numbers are cut to integers here, as they are by `to`; integers must fit."""
    inferred = _C.tensor(data)
    is_cut = inferred.is_floating_point() or inferred.is_complex()
    return inferred.to(dtype) if is_cut else _C.tensor(data, dtype=dtype)


TYPES = {f"{kind}Tensor": _TensorType(f"{kind}Tensor", getattr(_C, n)) for n, kind in NAMES.items()}
globals().update(TYPES)


def set_default_tensor_type(t):
    """Makes a floating type, or the type of a name, the default: set_default_dtype's older form."""
    warnings.warn(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
        "torch.set_default_dtype() and torch.set_default_device() as alternatives.",
        stacklevel=2,
    )
    named = TYPES.get(t.rpartition(".")[2]) if isinstance(t, str) else t
    if getattr(named, "is_cuda", False) is True:
        raise TypeError(
            f"type torch.cuda.{named.__name__} not available. Torch not compiled with CUDA enabled."
        )
    if named not in TYPES.values():
        raise TypeError(f"invalid type object: got {t!r}, expected a type like FloatTensor")
    _C.set_default_dtype(named.dtype)
