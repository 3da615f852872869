"""The class that has PyTorch's operators as functions, by which its pickles name them."""

import types

from taeda import _C


class _Functions(type):
    def __getattr__(cls, name):
        return getattr(_C, name)

    def __dir__(cls):
        return dir(_C)


class _VariableFunctionsClass(metaclass=_Functions):
    __module__ = "taeda._C"


def reduced_operator(obj):
    """How a file names an operator, `torch.relu` for instance; NotImplemented for all else."""
    if type(obj) is types.BuiltinFunctionType and obj.__self__ is _C:
        return getattr, (_VariableFunctionsClass, obj.__name__)
    return NotImplemented
