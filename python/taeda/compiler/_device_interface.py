"""What compilers ask of a type of device."""

import taeda

__all__ = ["CpuInterface", "CudaInterface", "DeviceInterface", "get_interface_for_device"]


class DeviceInterface:
    """A type of device; `kind` is its name."""

    kind = ""

    @classmethod
    def device_count(cls):
        raise NotImplementedError

    @classmethod
    def current_device(cls):
        raise NotImplementedError

    @classmethod
    def is_available(cls):
        raise NotImplementedError

    @classmethod
    def is_dtype_supported(cls, dtype, including_emulation=False):
        """Whether there are tensors of this dtype."""
        try:
            taeda.empty(0, dtype=dtype, device=cls.kind)
        except (RuntimeError, NotImplementedError, TypeError):
            return False
        return True

    @classmethod
    def is_bf16_supported(cls, including_emulation=False):
        return cls.is_dtype_supported(taeda.bfloat16, including_emulation)


class CpuInterface(DeviceInterface):
    """The CPU."""

    kind = "cpu"

    @classmethod
    def device_count(cls):
        return 1

    @classmethod
    def current_device(cls):
        return 0

    @classmethod
    def is_available(cls):
        return True

    @classmethod
    def synchronize(cls, device=None):
        """Nothing runs behind the caller's back."""


class CudaInterface(DeviceInterface):
    """GPUs of the CUDA plug-in."""

    kind = "cuda"

    @classmethod
    def device_count(cls):
        return taeda.cuda.device_count()

    @classmethod
    def current_device(cls):
        return taeda.cuda.current_device()

    @classmethod
    def is_available(cls):
        return taeda.cuda.is_available()

    @classmethod
    def synchronize(cls, device=None):
        taeda.cuda.synchronize(device)


_INTERFACES = {interface.kind: interface for interface in (CpuInterface, CudaInterface)}


def get_interface_for_device(device):
    """The class that answers for a type of device, or for a device of it."""
    kind = taeda.device(device).type
    if kind not in _INTERFACES:
        raise NotImplementedError(f"No interface for device {device}")
    return _INTERFACES[kind]
