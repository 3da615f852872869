"""ParametrizationList: the parametrizations of one tensor, and the tensors they start from."""

from collections.abc import Sequence

from taeda import _C
from taeda.__future__ import get_swap_module_params_on_conversion
from taeda.autograd.grad_mode import no_grad
from taeda.nn._operators import MissingOperatorError
from taeda.nn.modules.container import ModuleList
from taeda.nn.parameter import Parameter
from taeda.utils._python_dispatch import is_traceable_wrapper_subclass
from taeda.utils._swap_tensors import swap_tensors

_SEVERAL = "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "


def _register_parameter_or_buffer(module, name, tensor):
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _exchange(tensor, value):
    """Gives a tensor the value's memory, and its shape."""
    if not get_swap_module_params_on_conversion() and not is_traceable_wrapper_subclass(tensor):
        tensor.set_(value)
        return
    if isinstance(tensor, Parameter) and not isinstance(value, Parameter):
        value = Parameter(value, requires_grad=tensor.requires_grad)
    swap_tensors(tensor, value)


def refuse_changes(text, before, after):
    """ValueError where dtype or shape differ; before and after are (label, tensor)."""
    for what in ("dtype", "shape"):
        old, new = (getattr(tensor, what) for _, tensor in (before, after))
        if old != new:
            raise ValueError(
                f"{text.format(what)}\n"
                f"{before[0].format(what)}: {old}\n{after[0].format(what)}: {new}"
            )


class ParametrizationList(ModuleList):
    """Parametrizations that act one after the other on `original`, or on `original0`, ..."""

    def __init__(self, modules, original, unsafe=False):
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        first = self._first_values(original)
        if not isinstance(first, (_C.Tensor, Sequence)):
            raise ValueError(_SEVERAL + type(first).__name__)
        self.is_tensor = isinstance(first, _C.Tensor)
        self.ntensors = 1 if self.is_tensor else len(first)
        if self.is_tensor:
            self._add_original(original, first)
        else:
            self._add_originals(original, first)
        if not unsafe:
            self._check_result(dtype, shape)

    def _first_values(self, original):
        """What the inverses make of the tensor; those without one leave it."""
        with no_grad():
            for module in reversed(self):
                if hasattr(module, "right_inverse"):
                    try:
                        original = module.right_inverse(original)
                    except MissingOperatorError:
                        raise
                    except NotImplementedError:
                        continue
        return original

    def _add_original(self, original, first):
        for what in ("dtype", "device"):
            old, new = getattr(original, what), getattr(first, what)
            if old != new:
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the {what}.\n"
                    f"original.{what}: {old}\nright_inverse(original).{what}: {new}"
                )
        # The object stays, for those who hold it.
        with no_grad():
            _exchange(original, first)
        _register_parameter_or_buffer(self, "original", original)

    def _add_originals(self, original, first):
        for place, tensor in enumerate(first):
            if not isinstance(tensor, _C.Tensor):
                raise ValueError(
                    f"{_SEVERAL}element {place} of the sequence with type {type(tensor).__name__}."
                )
            if isinstance(original, Parameter):
                tensor = Parameter(tensor, original.requires_grad)
            tensor.requires_grad_(original.requires_grad)
            _register_parameter_or_buffer(self, f"original{place}", tensor)

    def _check_result(self, dtype, shape):
        result = self()
        if not isinstance(result, _C.Tensor):
            raise ValueError(
                f"A parametrization must return a tensor. Got {type(result).__name__}."
            )
        for what, old in (("dtype", dtype), ("shape", shape)):
            new = getattr(result, what)
            if old != new:
                raise ValueError(
                    f"Registering a parametrization may not change the {what} of the tensor, "
                    "unless `unsafe` flag is enabled.\n"
                    f"unparametrized {what}: {old}\nparametrized {what}: {new}"
                )

    def original_names(self):
        """The names of the tensors that the first parametrization gets."""
        if self.is_tensor:
            return ["original"]
        return [f"original{place}" for place in range(self.ntensors)]

    def right_inverse(self, value):
        """Sets the originals so that the result is `value`."""
        with no_grad():
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                value = module.right_inverse(value)
            if self.is_tensor:
                self._assign_one(value)
            else:
                self._assign_several(value)

    def _assign_one(self, value):
        if not isinstance(value, _C.Tensor):
            raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
        if value.dtype != self.original.dtype:
            raise ValueError(
                f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` "
                f"has dtype {self.original.dtype}"
            )
        _exchange(self.original, value)

    def _assign_several(self, value):
        if not isinstance(value, Sequence):
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}."
            )
        if len(value) != self.ntensors:
            raise ValueError(
                "'right_inverse' must return a sequence of tensors of length "
                f"{self.ntensors}. Got a sequence of length {len(value)}."
            )
        for place, (name, tensor) in enumerate(zip(self.original_names(), value)):
            original = getattr(self, name)
            if not isinstance(tensor, _C.Tensor):
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors or reference-type opaques. "
                    f"Got element {place} of type {type(tensor).__name__}."
                )
            if original.dtype != tensor.dtype:
                raise ValueError(
                    f"Tensor {place} returned by `right_inverse` has dtype {tensor.dtype} while "
                    f"`{name}` has dtype {original.dtype}"
                )
            _exchange(original, tensor)

    def forward(self):
        first, *rest = self
        result = first(*(getattr(self, name) for name in self.original_names()))
        for module in rest:
            result = module(result)
        return result
