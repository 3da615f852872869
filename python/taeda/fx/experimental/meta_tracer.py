"""PyTorch's path of the tracer that knows shapes: `taeda.fx.meta_trace`."""

from taeda.fx.meta_trace import (
    MetaAttribute,
    MetaDeviceAttribute,
    MetaProxy,
    MetaTracer,
    manual_meta_overrides,
    proxys_to_metas,
    symbolic_trace,
)

__all__ = [
    "MetaAttribute",
    "MetaDeviceAttribute",
    "MetaProxy",
    "MetaTracer",
    "manual_meta_overrides",
    "proxys_to_metas",
    "symbolic_trace",
]
