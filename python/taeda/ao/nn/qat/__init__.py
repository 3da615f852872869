"""Layers that train for quantization; none yet."""

from taeda.ao.nn.qat import modules

__all__ = ["modules"]
