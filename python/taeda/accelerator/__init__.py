"""The current accelerator; a plug-in device goes by its own name and does not count as one."""

__all__ = [
    "current_accelerator",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
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


def _refuse():
    raise RuntimeError("Cannot access accelerator device when none is available.")


def synchronize(device=None, /):
    """Waits for everything the device has been given to do."""
    _refuse()


def current_device_index():
    """The index of the current device."""
    _refuse()


def set_device_index(device, /):
    """Makes a device the current one."""
    _refuse()


def get_device_capability(device=None, /):
    """The dtypes that the device computes in."""
    _refuse()


def current_stream(device=None, /):
    """The stream that work on the device goes to."""
    _refuse()


def set_stream(stream, /):
    """Makes a stream the current one."""
    _refuse()


class device_index:
    """Makes a device the current one inside a `with`; None changes nothing."""

    def __init__(self, device, /):
        self.idx = device

    def __enter__(self):
        if self.idx is not None:
            _refuse()

    def __exit__(self, *exception):
        return False


def empty_cache():
    """Returns cached memory to the device."""
    _refuse()


def get_memory_info(device_index=None, /):
    """The device's free and total bytes."""
    _refuse()


def memory_stats(device_index=None, /):
    """The allocator's statistics."""
    _refuse()


def memory_allocated(device_index=None, /):
    """Bytes that tensors occupy."""
    _refuse()


def max_memory_allocated(device_index=None, /):
    """The most bytes that tensors occupied."""
    _refuse()


def memory_reserved(device_index=None, /):
    """Bytes that the caching allocator holds."""
    _refuse()


def max_memory_reserved(device_index=None, /):
    """The most bytes that the caching allocator held."""
    _refuse()


def reset_peak_memory_stats(device_index=None, /):
    """Lets the peaks begin anew."""
    _refuse()


def reset_accumulated_memory_stats(device_index=None, /):
    """Lets the sums begin anew."""
    _refuse()
