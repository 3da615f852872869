"""DLPack: tensors shared with other libraries, in both directions."""

import enum

from taeda import _C
from taeda._C import to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


class DLDeviceType(enum.IntEnum):
    """Kinds of devices, numbered as the protocol does."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor over the memory of `ext_tensor`, an object with `__dlpack__` or a capsule.

    `copy=True` asks the producer for a copy, `copy=False` forbids one; `device` says where the
    result shall be (the CPU).
    """
    if not hasattr(ext_tensor, "__dlpack__"):
        if device is not None or copy is not None:
            raise AssertionError(
                "device and copy kwargs not supported when ext_tensor is already a DLPack capsule."
            )
        return _C._from_dlpack(ext_tensor)
    options = {} if copy is None else {"copy": copy}
    if device is not None:
        options["dl_device"] = _to_dl_device(device)
    ext_tensor.__dlpack_device__()  # says no for memory that cannot be shared
    try:
        capsule = ext_tensor.__dlpack__(max_version=(1, 0), **options)
    except TypeError:
        # Producers from before version 1 take no such keyword.
        capsule = ext_tensor.__dlpack__(**options)
    return _C._from_dlpack(capsule)


def _to_dl_device(device):
    wanted = _C.device(device)
    if wanted.type != "cpu":
        raise ValueError(f"from_dlpack shares memory of the CPU only, got device={wanted}")
    return (DLDeviceType.kDLCPU, 0)
