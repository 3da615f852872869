"""Tensors that hold others: the classes that tests of __torch_dispatch__ share."""

import importlib

from under_test import NAME, t

tree_map = importlib.import_module(f"{NAME}.utils._pytree").tree_map
_python_dispatch = importlib.import_module(f"{NAME}.utils._python_dispatch")


def unwrap(value):
    return value.inner if isinstance(value, Wrapped) else value


class Wrapped(t.Tensor):
    """Holds a tensor in `inner` and computes with it."""

    seen = []

    @staticmethod
    def __new__(cls, inner, requires_grad=False):
        return t.Tensor._make_wrapper_subclass(
            cls,
            inner.shape,
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=inner.device,
            requires_grad=requires_grad,
        )

    def __init__(self, inner, requires_grad=False):
        self.inner = inner

    def __repr__(self):
        return f"{type(self).__name__}({self.inner.tolist()})"

    def __tensor_flatten__(self):
        return ["inner"], None

    @staticmethod
    def __tensor_unflatten__(tensors, context, outer_size, outer_stride):
        return Wrapped(tensors["inner"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        Wrapped.seen.append((str(func), types))
        args, kwargs = tree_map(unwrap, (args, kwargs or {}))
        return tree_map(lambda v: cls(v) if isinstance(v, t.Tensor) else v, func(*args, **kwargs))


class Aliasing(Wrapped):
    """The same, with results that alias as those of the operator do."""

    @staticmethod
    def __tensor_unflatten__(tensors, context, outer_size, outer_stride):
        return Aliasing(tensors["inner"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        out = super().__torch_dispatch__(func, types, args, kwargs)
        return _python_dispatch.return_and_correct_aliasing(func, args, kwargs, out)


def wrapped(*shape, cls=Wrapped, **options):
    """1, 2, 3, ... of that shape, in a wrapper."""
    count = 1
    for n in shape:
        count *= n
    return cls(t.arange(1.0, count + 1).view(*shape), **options)


def names(seen):
    return [name for name, _ in seen]
