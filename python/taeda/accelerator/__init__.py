"""The current accelerator; a plug-in device goes by its own name and does not count as one."""

from taeda.accelerator.memory import (
    empty_cache,
    empty_host_cache,
    get_memory_info,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_stats,
    refuse,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
)

__all__ = [
    "Graph",
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "empty_host_cache",
    "get_device_capability",
    "get_memory_info",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]


def is_available():
    """Whether there is an accelerator at run time."""
    return False


def current_accelerator(check_available=False):
    """The accelerator's device, None where there is none."""
    return None


def device_count():
    """The number of accelerator devices."""
    return 0


def synchronize(device=None, /):
    """Waits for everything the device has been given to do."""
    refuse()


def current_device_index():
    """The index of the current device."""
    refuse()


def set_device_index(device, /):
    """Makes a device the current one."""
    refuse()


# Older names.
current_device_idx, set_device_idx = current_device_index, set_device_index


def get_device_capability(device=None, /):
    """The dtypes that the device computes in."""
    refuse()


def current_stream(device=None, /):
    """The stream that work on the device goes to."""
    refuse()


def set_stream(stream, /):
    """Makes a stream the current one."""
    refuse()


class Graph:
    """Work of the accelerator, recorded to be done again."""

    def __init__(self, *args, **kwargs):
        refuse()


class device_index:
    """Makes a device the current one inside a `with`; None changes nothing."""

    def __init__(self, device, /):
        self.idx = device

    def __enter__(self):
        if self.idx is not None:
            refuse()

    def __exit__(self, *exception):
        return False
