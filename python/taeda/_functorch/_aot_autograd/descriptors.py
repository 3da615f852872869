"""PyTorch's path of what inputs of traced graphs stand for: `taeda.fx.aot.descriptors`."""

from taeda.fx.aot.descriptors import (
    AOTInput,
    BufferAOTInput,
    DifferentiableAOTInput,
    ParamAOTInput,
    PlainAOTInput,
)

__all__ = ["AOTInput", "BufferAOTInput", "DifferentiableAOTInput", "ParamAOTInput", "PlainAOTInput"]
