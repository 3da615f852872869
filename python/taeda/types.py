"""Types of arguments, for annotations and isinstance."""

import builtins
import os
from collections.abc import Sequence
from typing import IO, TypeAlias, Union

from taeda import DispatchKey, Size, SymBool, SymFloat, SymInt, Tensor
from taeda import device as _device
from taeda import dtype as _dtype
from taeda import layout as _layout  # noqa: F401

__all__ = ["Device", "FileLike", "Number", "Storage"]

# The built-in types by names that PyTorch's own functions do not hide.
_bool, _bytes, _complex = builtins.bool, builtins.bytes, builtins.complex
_float, _int, _str = builtins.float, builtins.int, builtins.str

Number: TypeAlias = int | float | bool
_Number = (int, float, bool)
Device: TypeAlias = _device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]

IntLikeType: TypeAlias = int | SymInt
FloatLikeType: TypeAlias = float | SymFloat
BoolLikeType: TypeAlias = bool | SymBool
PySymType: TypeAlias = SymInt | SymFloat | SymBool
py_sym_types = (SymInt, SymFloat, SymBool)

_size: TypeAlias = Size | list[int] | tuple[int, ...]
_symsize: TypeAlias = Size | Sequence[int | SymInt]
_dispatchkey: TypeAlias = str | DispatchKey
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrOptionalTensors: TypeAlias = Tensor | Sequence[Tensor | None]
_TensorOrTensorsOrGradEdge: TypeAlias = Union[
    Tensor, Sequence[Tensor], "GradientEdge", Sequence["GradientEdge"]  # noqa: F821
]


class Storage:
    """What both kinds of storages have, for annotations."""

    device: _device
    dtype: _dtype
