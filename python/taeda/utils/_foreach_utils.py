"""PyTorch's path of functions about lists of tensors."""

from taeda.optim._settings import (
    _get_foreach_kernels_supported_devices,
    _get_fused_kernels_supported_devices,
)
from taeda.optim._tensor_groups import _group_tensors_by_device_and_dtype

__all__ = [
    "_get_foreach_kernels_supported_devices",
    "_get_fused_kernels_supported_devices",
    "_group_tensors_by_device_and_dtype",
]
