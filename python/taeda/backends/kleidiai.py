"""Arm's library of quantized products; CPU kernels do without it."""

__all__ = ["is_available"]


def is_available():
    """Whether this build uses KleidiAI."""
    return False
