"""Compares a result of PyTorch with one of Taeda: kinds, shapes, dtypes, values."""

import math
from collections.abc import Sequence
from numbers import Number
from typing import Any

from parity.bridge import Bridge

# Relative and absolute; other dtypes must agree exactly.
TOLERANCES = {
    "float64": (1e-7, 1e-7),
    "complex128": (1e-7, 1e-7),
    "float32": (1e-4, 1e-5),
    "complex64": (1e-4, 1e-5),
    "float16": (5e-3, 2e-3),
    "bfloat16": (2e-2, 1e-2),
}
NUMBER_TOLERANCE = 1e-5


def tensors_in(value: Any, kind: type) -> list[Any]:
    """The tensors of class `kind` in nested lists, tuples and dicts, in order."""
    if isinstance(value, kind):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in tensors_in(item, kind)]
    return []


def dtype_name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


class Comparison:
    """What to look at: all of a result, or only its form where the values are random."""

    def __init__(self, bridge: Bridge, with_values: bool = True) -> None:
        self.bridge = bridge
        self.with_values = with_values

    def difference(self, want: Any, got: Any, path: str = "result") -> str | None:
        """What differs, in one line, or None."""
        if isinstance(want, self.bridge.torch.Tensor):
            return self._of_tensors(want, got, path)
        if isinstance(want, list | tuple):
            return self._of_sequences(want, got, path)
        if isinstance(want, Number):
            return self._of_numbers(want, got, path)
        return None

    def _of_tensors(self, want: Any, got: Any, path: str) -> str | None:
        if not isinstance(got, self.bridge.taeda.Tensor):
            return f"{path}: got {type(got).__name__}, expected Tensor"
        if tuple(want.shape) != tuple(got.shape):
            return f"{path}: shape {tuple(got.shape)}, expected {tuple(want.shape)}"
        if dtype_name(want.dtype) != dtype_name(got.dtype):
            return f"{path}: dtype {got.dtype}, expected {want.dtype}"
        torch = self.bridge.torch
        if not self.with_values or want.layout != torch.strided or want.device.type == "meta":
            return None
        wide = torch.complex128 if want.is_complex() else torch.float64
        pair = (want.detach().resolve_conj().resolve_neg(), self.bridge.back(got))
        tolerance = TOLERANCES.get(dtype_name(want.dtype), (0, 0))
        is_close = torch.allclose(*(side.to(wide) for side in pair), *tolerance, equal_nan=True)
        return None if is_close else f"{path}: values differ"

    def _of_sequences(self, want: Sequence, got: Any, path: str) -> str | None:
        if not isinstance(got, list | tuple) or len(got) != len(want):
            return f"{path}: got {type(got).__name__}, expected {len(want)} items"
        found = (
            self.difference(*pair, f"{path}[{index}]") for index, pair in enumerate(zip(want, got))
        )
        return next(filter(None, found), None)

    def _of_numbers(self, want: Any, got: Any, path: str) -> str | None:
        if not isinstance(got, Number):
            return f"{path}: got {type(got).__name__}, expected a number"
        if not self.with_values or want == got or (want != want and got != got):
            return None
        scale = max(1, abs(want))
        is_close = math.isfinite(scale) and abs(want - got) <= NUMBER_TOLERANCE * scale
        return None if is_close else f"{path}: {got}, expected {want}"
