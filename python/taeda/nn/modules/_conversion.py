"""The part of Module that converts its tensors: dtype, device, and gradients' switches."""

from warnings import warn

from taeda import _C, __future__
from taeda.autograd.grad_mode import no_grad
from taeda.nn.parameter import Parameter
from taeda.utils._python_dispatch import is_traceable_wrapper_subclass
from taeda.utils._swap_tensors import swap_tensors


class Conversion:
    """`to` and its short forms; each changes the module in place and returns it."""

    def _apply(self, fn, recurse=True):
        """Replaces each parameter, its gradient and each buffer by `fn` of it.

        Parameters stay the same objects where their memory can be exchanged, so that optimizers
        made before go on working.
        """
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is not None:
                self._parameters[name] = _converted(parameter, fn, f"{self._get_name()}.{name}")
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args, **kwargs):
        """`to(device, dtype)`, `to(dtype)`, `to(tensor)` or `to(memory_format=...)`.

        The dtype concerns floating point and complex tensors; others only move.
        """
        device, dtype, non_blocking, memory_format = _parse_to(*args, **kwargs)
        if dtype is not None:
            _check_dtype(dtype)

        def convert(tensor):
            has_dtype = tensor.is_floating_point() or tensor.is_complex()
            options = {"non_blocking": non_blocking}
            if memory_format is not None and tensor.dim() in (4, 5):
                options["memory_format"] = memory_format
            try:
                return tensor.to(device, dtype if has_dtype else None, **options)
            except NotImplementedError as error:
                if str(error) != "Cannot copy out of meta tensor; no data!":
                    raise
                raise NotImplementedError(
                    f"{error} Please use torch.nn.Module.to_empty() instead of "
                    "torch.nn.Module.to() when moving module from meta to a different device."
                ) from None

        return self._apply(convert)

    def to_empty(self, *, device, recurse=True):
        """Moves to a device without copying the values."""
        return self._apply(lambda tensor: _C.empty_like(tensor, device=device), recurse=recurse)

    def share_memory(self):
        """Moves parameters and buffers to memory that other processes can share."""
        return self._apply(lambda tensor: tensor.share_memory_())

    def cpu(self):
        """Moves to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device=None):
        """Moves to a CUDA device."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def xpu(self, device=None):
        """Moves to a device of the kind XPU, if a plug-in brings one."""
        return self._apply(lambda tensor: tensor.to(_device_of("xpu", device)))

    def ipu(self, device=None):
        """Moves to a device of the kind IPU, if a plug-in brings one."""
        return self._apply(lambda tensor: tensor.to(_device_of("ipu", device)))

    def mtia(self, device=None):
        """Moves to a device of the kind MTIA, if a plug-in brings one."""
        return self._apply(lambda tensor: tensor.to(_device_of("mtia", device)))

    def type(self, dst_type):
        """Converts every parameter and buffer to a dtype."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self):
        """Converts floating point parameters and buffers to float32."""
        return self._apply(lambda tensor: tensor.float() if tensor.is_floating_point() else tensor)

    def double(self):
        """Converts floating point parameters and buffers to float64."""
        return self._apply(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)

    def half(self):
        """Converts floating point parameters and buffers to float16."""
        return self._apply(lambda tensor: tensor.half() if tensor.is_floating_point() else tensor)

    def bfloat16(self):
        """Converts floating point parameters and buffers to bfloat16."""
        return self._apply(
            lambda tensor: tensor.bfloat16() if tensor.is_floating_point() else tensor
        )

    def requires_grad_(self, requires_grad=True):
        """Switches gradients of all parameters on or off."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Forgets the gradients of all parameters, or sets them to zero."""
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            elif parameter.grad.grad_fn is not None:
                parameter.grad.detach_().zero_()
            else:
                parameter.grad.requires_grad_(False).zero_()


def _device_of(kind, device):
    """The device of a kind by its index, or as it is given."""
    return _C.device(kind, device) if isinstance(device, int) else _C.device(device or kind)


def _converted(parameter, fn, name):
    """The parameter after its value and gradient were exchanged, or a new one.

    It is a new one across meta, and where `__future__` asks for that.
    """
    with no_grad():
        value = fn(parameter)
    is_swapped = __future__.get_swap_module_params_on_conversion()
    if is_swapped or is_traceable_wrapper_subclass(value):
        _swap(parameter, value, fn, name)
        return parameter
    gradient = parameter.grad
    converted = parameter
    if _keeps_object(parameter, value):
        parameter.data = value
    else:
        converted = Parameter(value, parameter.requires_grad)
    if gradient is not None:
        with no_grad():
            new_gradient = fn(gradient)
        if _keeps_object(gradient, new_gradient):
            converted.grad.data = new_gradient
        else:
            converted.grad = new_gradient.requires_grad_(gradient.requires_grad)
    return converted


def _keeps_object(tensor, value):
    """Whether the tensor can get the value's memory and stay the same object."""
    is_overwritten = __future__.get_overwrite_module_params_on_conversion()
    return tensor.is_meta == value.is_meta and not is_overwritten


def _swap(parameter, value, fn, name):
    """Exchanges the parameter and its gradient with what `fn` makes of them."""
    gradient = parameter.grad
    parameter.grad = None  # a second holder would be in the way
    try:
        swap_tensors(parameter, Parameter(value, requires_grad=parameter.requires_grad))
    except Exception as error:
        parameter.grad = gradient
        raise RuntimeError(f"_apply(): Couldn't swap {name}") from error
    if gradient is None:
        return
    with no_grad():
        value = fn(gradient).requires_grad_(gradient.requires_grad)
    try:
        swap_tensors(gradient, value)
    except Exception as error:
        raise RuntimeError(f"_apply(): Couldn't swap {name}.grad") from error
    parameter.grad = gradient


def _check_dtype(dtype):
    if not (dtype.is_floating_point or dtype.is_complex):
        raise TypeError(
            "nn.Module.to only accepts floating point or complex dtypes, but got desired "
            f"dtype={dtype}"
        )
    if dtype.is_complex:
        warn(
            "Complex modules are a new feature under active development whose design may change, "
            "and some modules might not work as expected when using complex tensors as parameters "
            "or buffers.",
            stacklevel=3,
        )


def _parse_to(*args, **kwargs):
    """(device, dtype, non_blocking, memory_format) of the arguments of Tensor.to."""
    first = args[0] if args else None
    if isinstance(first, _C.Tensor):
        names = ("other", "non_blocking", "copy")
    elif isinstance(first, _C.dtype):
        names = ("dtype", "non_blocking", "copy")
    else:
        names = ("device", "dtype", "non_blocking", "copy")
    given = dict(zip(names, args)) | kwargs
    if len(args) > len(names) or not all(_is_option(*option) for option in given.items()):
        # The tensor method of this name says what it takes.
        _C.empty(0).to(*args, **kwargs)
    if given.get("copy"):
        raise RuntimeError(".to() does not accept copy argument")
    other = given.get("other")
    if other is not None:
        given |= {"device": other.device, "dtype": other.dtype}
    device = given.get("device")
    return (
        device if device is None else _C.device(device),
        given.get("dtype"),
        given.get("non_blocking", False),
        given.get("memory_format"),
    )


_C._nn._parse_to = _parse_to  # PyTorch's place of it
_NONE = type(None)
_OPTIONS = {
    "device": (str, int, _C.device, _NONE),
    "dtype": (_C.dtype, _NONE),
    "other": (_C.Tensor,),
    "non_blocking": (bool,),
    "copy": (bool,),
    "memory_format": (_C.memory_format, _NONE),
}


def _is_option(name, value):
    return isinstance(value, _OPTIONS.get(name, ()))
