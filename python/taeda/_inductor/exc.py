"""Errors of the compiler of graphs: PyTorch's path."""

from taeda.compiler._errors import (
    BackendCompilerFailed,
    InductorError,
    LoweringException,
    ShortenTraceback,
)

__all__ = ["BackendCompilerFailed", "InductorError", "LoweringException", "ShortenTraceback"]
