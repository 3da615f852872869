"""Distribution over processes, as PyTorch has it in a build without it: there is none to use."""

__all__ = ["is_available", "is_initialized", "is_torchelastic_launched"]


def is_available():
    """Whether processes can be joined in groups."""
    return False


def is_initialized():
    """Whether this process is a member of a group."""
    return False


def is_torchelastic_launched():
    """Whether a launcher that restarts its processes started this one."""
    return False


def __getattr__(name):
    raise AttributeError(
        f"module 'taeda.distributed' has no attribute '{name}': distribution is not part of this "
        "build (taeda.distributed.is_available() is False)"
    )
