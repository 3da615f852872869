"""Memory of the current accelerator; there is none."""

__all__ = [
    "empty_cache",
    "empty_host_cache",
    "get_memory_info",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
]


def refuse():
    raise RuntimeError("Cannot access accelerator device when none is available.")


def empty_cache():
    """Returns cached memory to the device."""
    refuse()


def empty_host_cache():
    """Returns cached memory of the host, which copies go through."""
    refuse()


def get_memory_info(device_index=None, /):
    """The device's free and total bytes."""
    refuse()


def memory_stats(device_index=None, /):
    """The allocator's statistics."""
    refuse()


def memory_allocated(device_index=None, /):
    """Bytes that tensors occupy."""
    refuse()


def max_memory_allocated(device_index=None, /):
    """The most bytes that tensors occupied."""
    refuse()


def memory_reserved(device_index=None, /):
    """Bytes that the caching allocator holds."""
    refuse()


def max_memory_reserved(device_index=None, /):
    """The most bytes that the caching allocator held."""
    refuse()


def reset_peak_memory_stats(device_index=None, /):
    """Lets the peaks begin anew."""
    refuse()


def reset_accumulated_memory_stats(device_index=None, /):
    """Lets the sums begin anew."""
    refuse()
