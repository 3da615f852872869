"""Quantized layers; none yet."""

from taeda.ao.nn.quantized import modules

__all__ = ["modules"]
