"""PyTorch's path of the errors of programs that are captured: `taeda.compiler`, `taeda.export`."""

from taeda.compiler._errors import (
    BackendCompilerFailed,
    FailOnRecompileLimitHit,
    InternalTorchDynamoError,
    InvalidBackend,
    RecompileError,
    RecompileLimitExceeded,
    ResetRequired,
    TorchDynamoException,
    TorchRuntimeError,
    Unsupported,
)
from taeda.export._errors import UserError

__all__ = [
    "BackendCompilerFailed",
    "FailOnRecompileLimitHit",
    "InternalTorchDynamoError",
    "InvalidBackend",
    "RecompileError",
    "RecompileLimitExceeded",
    "ResetRequired",
    "TorchDynamoException",
    "TorchRuntimeError",
    "Unsupported",
    "UserError",
]
