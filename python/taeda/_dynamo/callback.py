"""PyTorch's path of callbacks at compilations: `taeda.compiler._callbacks`."""

from taeda.compiler._callback_args import CallbackArgs, CallbackTrigger
from taeda.compiler._callbacks import (
    CompilationCallbackHandler,
    callback_handler,
    on_compile_end,
    on_compile_start,
)

__all__ = [
    "CallbackArgs",
    "CallbackTrigger",
    "CompilationCallbackHandler",
    "callback_handler",
    "on_compile_end",
    "on_compile_start",
]
