"""Attention: which kernels may compute it, and attention with functions of scores and masks."""

from taeda.nn.attention._backends import SDPBackend, sdpa_kernel

__all__ = ["SDPBackend", "sdpa_kernel"]
