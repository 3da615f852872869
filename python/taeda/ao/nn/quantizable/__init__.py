"""Layers that can be quantized; none yet."""

from taeda.ao.nn.quantizable import modules

__all__ = ["modules"]
