"""The names of a device plug-in: in `device="..."`, as a module, and as methods."""

import sys

from taeda import _C

__all__ = ["generate_methods_for_privateuse1_backend", "rename_privateuse1_backend"]


def rename_privateuse1_backend(backend_name):
    """Lets `device="<backend_name>"` stand for the device of the first plug-in slot."""
    _C._rename_privateuse1_backend(backend_name)


def _register_device_module(device_type, module):
    """Makes `module` reachable as `taeda.<device_type>`; a device has one module."""
    import taeda

    name = taeda.device(device_type).type
    if hasattr(taeda, name):
        raise RuntimeError(
            f"The runtime module of '{name}' has already been registered with "
            f"'{getattr(taeda, name)}'"
        )
    setattr(taeda, name, module)
    sys.modules[f"taeda.{name}"] = module


def get_device_module(device=None):
    """The module of a device: `taeda.cuda` for "cuda:0"; without one, that of the CPU."""
    import taeda

    if not isinstance(device, (str, taeda.device)) and device is not None:
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    name = "cpu" if device is None else taeda.device(device).type
    module = getattr(taeda, name, None)
    if module is None:
        raise RuntimeError(
            f"Device '{name}' does not have a corresponding module registered as 'torch.{name}'."
        )
    return module


def generate_methods_for_privateuse1_backend(
    for_tensor=True,
    for_module=True,
    for_packed_sequence=True,
    for_storage=False,
    unsupported_dtype=None,
):
    """Adds `Tensor.<name>()`, `Tensor.is_<name>` and `Module.<name>()` for the plug-in's name.

    There are no packed sequences, so `for_packed_sequence` adds nothing; storages of plug-ins have
    no methods, so `for_storage` is refused, and `unsupported_dtype`, which is about them, unused.
    """
    import taeda

    if for_storage:
        raise NotImplementedError("storages have no methods that copy to a device")
    name = _C._get_privateuse1_backend_name()
    if for_tensor:
        _add(taeda.Tensor, f"is_{name}", property(_is_on(name)))
        _add(taeda.Tensor, name, _tensor_method(name))
    if for_module:
        _add(taeda.nn.Module, name, _module_method(name))


def _add(owner, attribute, value):
    if hasattr(owner, attribute):
        raise RuntimeError(
            f"The custom device module of {owner} has already been registered with {attribute}"
        )
    setattr(owner, attribute, value)


def _target(name, device):
    """The plug-in's device that an index, a device or None means."""
    import taeda

    if device is None:
        return taeda.device(name)
    if isinstance(device, int):
        return taeda.device(name, device)
    device = taeda.device(device)
    if device.type != name:
        raise RuntimeError(f"Invalid device, must be {name} device")
    return device


def _is_on(name):
    def is_on(self):
        return self.device.type == name

    is_on.__doc__ = f"Whether the tensor is on a device of type {name}."
    return is_on


def _tensor_method(name):
    def method(self, device=None, non_blocking=False, **kwargs):
        return self.to(device=_target(name, device), non_blocking=non_blocking, **kwargs)

    method.__name__ = name
    method.__doc__ = f"The tensor on a device of type {name}; itself where it already is."
    return method


def _module_method(name):
    def method(self, device=None):
        return self.to(_target(name, device))

    method.__name__ = name
    method.__doc__ = f"Moves all parameters and buffers to a device of type {name}."
    return method
