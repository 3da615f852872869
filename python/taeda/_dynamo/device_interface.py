"""PyTorch's path of what compilers ask of a type of device."""

from taeda.compiler._device_interface import (
    CpuInterface,
    CudaInterface,
    DeviceInterface,
    get_interface_for_device,
)

__all__ = ["CpuInterface", "CudaInterface", "DeviceInterface", "get_interface_for_device"]
