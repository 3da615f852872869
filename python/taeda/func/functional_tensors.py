"""Functional tensors: writes to them make new values, and nobody else sees the writes.

mode = FunctionalTensorMode()
with mode:
    y = FunctionalTensor.to_functional(x)
    y.view(-1).add_(1)
    value = FunctionalTensor.from_functional(y)  # x + 1; x is what it was
"""

import functools

import taeda
from taeda import _C
from taeda.utils._pytree import tree_map_only

__all__ = [
    "FunctionalTensor",
    "FunctionalTensorMode",
    "dispatch_functionalize",
    "mb_unwrap_functional_tensor",
]

_active = []  # modes, the innermost last


class FunctionalTensorMode:
    """While it is active, tensors can be made functional; they are of no use after it.

    pre_dispatch: composite operators stay whole.
    """

    def __init__(self, pre_dispatch=False, export=False):
        self.pre_dispatch = pre_dispatch
        self.export = export
        self._levels = []

    def __enter__(self):
        self._levels.append(_C._enter_functionalize(False, self.pre_dispatch))
        _active.append(self)
        return self

    def __exit__(self, *exception):
        _active.pop()
        _C._exit_functionalize(self._levels.pop())

    @property
    def level(self):
        """The number of the transform; AssertionError outside of the mode."""
        if not self._levels:
            raise AssertionError("the functional mode is not active")
        return self._levels[-1]


def _innermost():
    if not _active:
        raise AssertionError("functional_mode must not be None")
    return _active[-1]


def _value_of(t):
    return _C._functional_value(t, _innermost().level)[0]


class _FunctionalType(type):
    def __instancecheck__(cls, obj):
        return bool(_active) and isinstance(obj, taeda.Tensor) and _value_of(obj) is not obj


class FunctionalTensor(metaclass=_FunctionalType):
    """Makes `isinstance` true of tensors that are functional under the innermost mode."""

    @staticmethod
    def to_functional(x):
        """A functional tensor of this value; a functional one is refused."""
        mode = _innermost()
        if isinstance(x, FunctionalTensor):
            raise AssertionError("the tensor is functional already")
        return _C._make_functional(x, mode.level)

    @staticmethod
    def from_functional(x):
        """The value that the tensor has by now."""
        return _value_of(x)


def dispatch_functionalize(func, mode=None):
    """The function without writes: writes to its arguments are seen inside only."""

    @functools.wraps(func)
    def functional(*args, **kwargs):
        with mode or FunctionalTensorMode():
            args, kwargs = tree_map_only(
                taeda.Tensor, FunctionalTensor.to_functional, (args, kwargs)
            )
            return tree_map_only(taeda.Tensor, _value_of, func(*args, **kwargs))

    return functional


def mb_unwrap_functional_tensor(tensor):
    """The value of a functional tensor; others as they are."""
    return _value_of(tensor) if isinstance(tensor, FunctionalTensor) else tensor
