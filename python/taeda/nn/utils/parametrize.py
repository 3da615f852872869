"""Tensors of a module as functions of others: parametrizations, registered by name.

A module with a parametrized tensor gets a class of its own, in which the tensor's name is a
property; the tensors that it is computed from are in `module.parametrizations`.
"""

from contextlib import contextmanager

from taeda import _C
from taeda._own_names import adopt_private_classes
from taeda.autograd.grad_mode import no_grad
from taeda.nn.modules.container import ModuleDict
from taeda.nn.parameter import Parameter
from taeda.nn.utils._parametrization_list import (
    ParametrizationList,
    _exchange,
    _register_parameter_or_buffer,
    refuse_changes,
)
from taeda.nn.utils._parametrized_class import inject_class, inject_property, remove_property

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

# How many `cached` blocks are open, and the tensors computed in them by (module id, name).
_cache_enabled = 0
_cache = {}


@contextmanager
def cached():
    """Inside, each parametrized tensor is computed once."""
    global _cache_enabled, _cache
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache = {}


def _value(module, name):
    """The parametrized tensor of a name."""
    parametrization = module.parametrizations[name]
    if not _cache_enabled:
        return parametrization()
    key = (id(module), name)
    if _cache.get(key) is None:
        _cache[key] = parametrization()
    return _cache[key]


def is_parametrized(module, tensor_name=None):
    """Whether the module has a parametrization, or one of the name."""
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def type_before_parametrizations(module):
    """The class that the module had before."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """Makes a parameter or buffer the result of a module; those of one name act in turn.

    `right_inverse` of the parametrization, if there is one, gives the tensors to start from and
    serves assignments. `unsafe` allows other dtypes and shapes.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_another(module, tensor_name, parametrization)
        listed = module.parametrizations[tensor_name]
        listed.append(parametrization)
        listed.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        listed = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            inject_class(module)
            module.parametrizations = ModuleDict()
        inject_property(module, tensor_name, _value)
        module.parametrizations[tensor_name] = listed
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    return module


def _check_another(module, name, parametrization):
    """A further parametrization keeps dtype and shape, and so does its inverse."""
    before = getattr(module, name)
    after = parametrization(before)
    if not isinstance(after, _C.Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    refuse_changes(
        "Registering a parametrization may not change the {} of the tensor, unless the `unsafe` "
        "flag is enabled.",
        (f"module.{name}.{{}}", before),
        (f"parametrization(module.{name}).{{}}", after),
    )
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        inverse = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    if not isinstance(inverse, _C.Tensor):
        raise ValueError(
            f"parametrization.right_inverse must return a tensor. Got: {type(inverse).__name__}"
        )
    refuse_changes(
        "The tensor returned by parametrization.right_inverse must have the same {} as "
        f"module.{name}, unless the `unsafe` flag is enabled.",
        (f"module.{name}.{{}}", before),
        ("returned {}", inverse),
    )


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Makes the tensor a parameter or buffer again: with its present value, or the original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    listed = module.parametrizations[tensor_name]
    if listed.is_tensor:
        original = listed.original
        if leave_parametrized:
            _set_to_present(module, tensor_name, original)
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    remove_property(module, tensor_name)
    del module.parametrizations[tensor_name]
    _register_parameter_or_buffer(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def _set_to_present(module, name, original):
    with no_grad():
        value = getattr(module, name)
        try:
            _exchange(original, value)
        except RuntimeError as error:
            if type(original) is _C.Tensor:
                raise
            raise RuntimeError(
                "Calling remove_parametrizations() with leave_parametrized=True for a parameter "
                "that is an instance of a tensor subclass requires set_() to be implemented "
                "correctly for the tensor subclass. Either set leave_parametrized=False or provide "
                "a working implementation for set_() in the tensor subclass"
            ) from error


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Registers one module's parametrizations on another, with the same tensors behind them."""
    if not is_parametrized(from_module):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        for original in source.original_names():
            setattr(target, original, getattr(source, original))
    return to_module


adopt_private_classes(globals())
