"""Attention: which kernels may compute it, and attention with functions of scores and masks."""

from taeda._own_names import adopt_private_classes
from taeda.nn.attention._backends import (
    SDPBackend,
    _cur_sdpa_kernel_backends,
    sdpa_kernel,
)

__all__ = ["SDPBackend", "sdpa_kernel"]

adopt_private_classes(globals())
