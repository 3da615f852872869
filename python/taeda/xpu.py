"""Intel GPUs as a build without them shows them: programs that ask first run unchanged."""

from collections import OrderedDict

__all__ = [
    "current_device",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "init",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats",
    "set_device",
    "synchronize",
]


def is_available():
    """Whether there is such a GPU."""
    return False


def is_initialized():
    """Whether one is in use."""
    return False


def device_count():
    """How many there are."""
    return 0


def is_bf16_supported(including_emulation=True):
    """Whether the current one computes in bfloat16."""
    return False


def is_current_stream_capturing():
    """Whether the current stream records a graph."""
    return False


def init():
    """Prepares the GPUs; raises AssertionError in a build without them."""
    raise AssertionError("Torch not compiled with XPU enabled")


def current_device():
    """The index of the current one."""
    init()


def set_device(device):
    """Makes one the current one."""
    init()


def synchronize(device=None):
    """Waits for everything the GPU has been given to do."""
    init()


def get_device_name(device=None):
    """The GPU's name."""
    init()


def get_device_capability(device=None):
    """What the GPU can do."""
    init()


def get_device_properties(device=None):
    """The GPU's name, memory and processors."""
    init()


def empty_cache():
    """Returns cached memory to the GPUs; there is none."""


def memory_stats(device=None):
    """The allocator's statistics; empty before a GPU is used."""
    return OrderedDict()


def memory_allocated(device=None):
    """Bytes that tensors occupy."""
    return 0


def max_memory_allocated(device=None):
    """The most bytes that tensors occupied."""
    return 0


def memory_reserved(device=None):
    """Bytes that the caching allocator holds."""
    return 0


def max_memory_reserved(device=None):
    """The most bytes that the caching allocator held."""
    return 0


def reset_peak_memory_stats(device=None):
    """Lets the peaks begin anew; there are none."""


def manual_seed(seed):
    """Seeds the current GPU's generator."""
    int(seed)


def manual_seed_all(seed):
    """Seeds the generators of all GPUs."""
    int(seed)
