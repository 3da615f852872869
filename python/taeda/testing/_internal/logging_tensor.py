"""PyTorch's path of tensors that log operators, which are in `taeda.testing.logging_tensor`."""

from taeda.testing.logging_tensor import (
    LoggingTensor,
    LoggingTensorMode,
    LoggingTensorReentrant,
    capture_logs,
    capture_logs_with_logging_tensor_mode,
    log_input,
)

__all__ = [
    "LoggingTensor",
    "LoggingTensorMode",
    "LoggingTensorReentrant",
    "capture_logs",
    "capture_logs_with_logging_tensor_mode",
    "log_input",
]
