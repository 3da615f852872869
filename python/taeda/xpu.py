"""Intel GPUs as a build without them shows them: programs that ask first run unchanged."""

__all__ = ["device_count", "is_available", "is_initialized"]


def is_available():
    """Whether there is such a GPU."""
    return False


def is_initialized():
    """Whether one is in use."""
    return False


def device_count():
    """How many there are."""
    return 0
