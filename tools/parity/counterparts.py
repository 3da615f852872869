"""Finds the function of Taeda that stands for a function of PyTorch."""

import re
from collections.abc import Callable
from types import (
    BuiltinFunctionType,
    CellType,
    FunctionType,
    MethodDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

# Where the names of PyTorch's built-in modules are public.
PUBLIC_MODULES = {
    "torch._C._nn": "nn.functional.",
    "torch._C._special": "special.",
    "torch._C._fft": "fft.",
    "torch._C._linalg": "linalg.",
}
# Where a function of a private module, or of torch.functional, is public.
TOP_LEVEL = ("", "nn.functional.", "linalg.", "special.")
# Functions that call functions that call functions: no record goes deeper.
MAX_DEPTH = 4


def named(root: Any, path: str) -> Any:
    """What a dotted name such as nn.functional.relu means in `root`."""
    for part in path.split("."):
        root = getattr(root, part)
    return root


class Counterparts:
    """Functions by name, and functions of PyTorch's records read anew with Taeda's names."""

    def __init__(self, bridge: Any) -> None:
        self.bridge = bridge
        self.torch = bridge.torch
        self.taeda = bridge.taeda

    def of_record(self, record: Any) -> Callable:
        """What to call for a record; AttributeError where Taeda lacks it."""
        if self._belongs_to_records(record.op):
            return self._read_anew(record.op, 0)
        return self._by_record_name(record) or self.of(record.op)

    def has(self, record: Any) -> bool:
        """Whether Taeda has a function of the record's name, or a method, in place or not."""
        in_place = getattr(self.taeda.Tensor, f"{record.name}_", None)
        return (self._by_record_name(record) or in_place) is not None

    def of(self, function: Callable, depth: int = 0) -> Callable:
        """The counterpart of a function of PyTorch; a function of anyone else is its own."""
        name = getattr(function, "__name__", "")
        if self._belongs_to_records(function):
            return self._read_anew(function, depth)
        qualified = getattr(function, "__qualname__", name)
        is_method = isinstance(function, MethodDescriptorType | WrapperDescriptorType)
        if is_method or qualified.startswith(("TensorBase.", "Tensor.", "_TensorBase.")):
            return getattr(self.taeda.Tensor, name)
        if hasattr(function, "overloadpacket") or hasattr(function, "_qualified_op_name"):
            text = str(function)
            plain = text.split(".")[1] if text.startswith("aten.") else name
            return getattr(self.taeda.ops.aten, plain)
        module = getattr(function, "__module__", None) or "torch"
        if isinstance(function, BuiltinFunctionType):
            return self._built_in(name, module)
        return self._public(name, module) if module.startswith("torch") else function

    @staticmethod
    def _belongs_to_records(function: Any) -> bool:
        """Whether it was written for the records, around the operator."""
        if not isinstance(function, FunctionType):
            return False
        module = function.__module__ or ""
        return function.__name__ == "<lambda>" or module.startswith("torch.testing")

    def _by_record_name(self, record: Any) -> Callable | None:
        name = record.name.removeprefix("torch.")
        for prefix in ("", "Tensor.", "ops.aten."):
            try:
                found = named(self.taeda, prefix + name)
            except AttributeError:
                continue
            if callable(found):
                return found
        return None

    def _built_in(self, name: str, module: str) -> Callable:
        for start, prefix in PUBLIC_MODULES.items():
            if module.startswith(start):
                return named(self.taeda, prefix + re.sub(r"^(special|fft|linalg)_", "", name))
        return getattr(self.taeda, name)

    def _public(self, name: str, module: str) -> Callable:
        public = module.partition(".")[2].partition("._")[0]
        is_elsewhere = public in ("", "functional") or public.startswith("_")
        for prefix in TOP_LEVEL if is_elsewhere else (f"{public}.",):
            try:
                return named(self.taeda, prefix + name)
            except AttributeError:
                continue
        raise AttributeError(f"no counterpart of {module}.{name}")

    def _read_anew(self, function: FunctionType, depth: int) -> Callable:
        """The same code, whose global names and closure mean Taeda's things."""
        if depth > MAX_DEPTH:
            return function
        scope = dict(function.__globals__)
        for name in function.__code__.co_names:
            if name in scope:
                scope[name] = self._global(scope[name], depth)
        cells = tuple(
            CellType(self._enclosed(cell.cell_contents, depth))
            for cell in function.__closure__ or ()
        )
        copy = FunctionType(
            function.__code__, scope, function.__name__, function.__defaults__, cells
        )
        copy.__kwdefaults__ = function.__kwdefaults__
        return copy

    def _global(self, value: Any, depth: int) -> Any:
        if value is self.torch:
            return self.taeda
        try:
            if isinstance(value, ModuleType) and value.__name__.startswith("torch."):
                return named(self.taeda, value.__name__.removeprefix("torch."))
            if callable(value) and str(getattr(value, "__module__", "")).startswith("torch"):
                return self.of(value, depth + 1)
        except AttributeError:
            pass  # calling it will say that it takes no tensors of Taeda
        return value

    def _enclosed(self, value: Any, depth: int) -> Any:
        return self.of(value, depth + 1) if callable(value) else self.bridge.to(value)
