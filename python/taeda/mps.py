"""Apple's GPUs as a build without them shows them: programs that ask first run unchanged."""

__all__ = [
    "Event",
    "compile_shader",
    "current_allocated_memory",
    "device_count",
    "driver_allocated_memory",
    "empty_cache",
    "get_rng_state",
    "is_available",
    "manual_seed",
    "recommended_max_memory",
    "seed",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "synchronize",
]


def _refuse(function):
    raise RuntimeError(f"Cannot execute {function}() without MPS backend.")


def is_available():
    """Whether there is such a GPU."""
    return False


def device_count():
    """How many there are."""
    return 0


def synchronize():
    """Waits for everything the GPU has been given to do."""
    _refuse("deviceSynchronize")


def empty_cache():
    """Returns cached memory to the GPU."""
    _refuse("emptyCache")


def current_allocated_memory():
    """Bytes that tensors occupy."""
    _refuse("getCurrentAllocatedMemory")


def driver_allocated_memory():
    """Bytes that the driver has given to this process."""
    _refuse("getDriverAllocatedMemory")


def recommended_max_memory():
    """Bytes that the process should not go beyond."""
    _refuse("getRecommendedMaxMemory")


def set_per_process_memory_fraction(fraction):
    """Limits the memory of the process to a part of what is recommended."""
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 2:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~2")
    _refuse("setMemoryFraction")


def compile_shader(source):
    """Functions of Metal from their source."""
    raise RuntimeError("MPS is not available")


class Event:
    """A mark in the GPU's work, to wait for or to take times between."""

    def __init__(self, enable_timing=False):
        _refuse("acquireEvent")


def get_rng_state(device="mps"):
    """The state of the GPU's generator."""
    _refuse("getDefaultGenerator")


def set_rng_state(new_state, device="mps"):
    """Sets the state of the GPU's generator."""
    _refuse("getDefaultGenerator")


def manual_seed(seed):
    """Seeds the generator, where there is one."""
    int(seed)


def seed():
    """Seeds the generator with a random number, where there is one."""
