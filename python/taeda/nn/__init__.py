"""Neural network parts: parameters, modules, functions, initial values."""

from taeda.nn import functional, init, modules, parameter, utils
from taeda.nn.modules import *
from taeda.nn.modules import Module
from taeda.nn.parallel import DataParallel
from taeda.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

from taeda.nn import attention, common_types, grad, parallel  # isort: skip

_OPTIONS = ("device", "dtype", "memory_format")


def factory_kwargs(kwargs):
    """The options of a factory function among keyword arguments; TypeError for any others.

    Options that the caller's function has names for may stand in `kwargs["factory_kwargs"]`.
    """
    if kwargs is None:
        return {}
    unknown = kwargs.keys() - {*_OPTIONS, "factory_kwargs"}
    if unknown:
        raise TypeError(f"unexpected kwargs {unknown}")
    options = dict(kwargs.get("factory_kwargs", {}))
    for name in _OPTIONS:
        if name in kwargs:
            if name in options:
                raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
            options[name] = kwargs[name]
    return options
