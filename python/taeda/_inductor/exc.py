"""Errors of the compiler of graphs: PyTorch's path."""

from taeda.compiler._errors import BackendCompilerFailed, InductorError, ShortenTraceback

__all__ = ["BackendCompilerFailed", "InductorError", "ShortenTraceback"]
