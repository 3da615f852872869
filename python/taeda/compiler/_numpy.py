"""Functions of NumPy arrays as functions of tensors."""

import functools

import taeda
from taeda.utils._pytree import tree_map

__all__ = ["wrap_numpy"]


def _as_array(value):
    return value.detach().numpy(force=True) if isinstance(value, taeda.Tensor) else value


def _as_tensor(value):
    import numpy

    is_array = isinstance(value, (numpy.ndarray, numpy.generic))
    return taeda.from_numpy(numpy.asarray(value)) if is_array else value


def wrap_numpy(fn):
    """A function of tensors that calls one of NumPy arrays; no gradients flow through it.

    Calls are breaks in captured programs.
    """

    @functools.wraps(fn)
    def inner(*args, **kwargs):
        args, kwargs = tree_map(_as_array, (args, kwargs))
        return tree_map(_as_tensor, fn(*args, **kwargs))

    return inner
