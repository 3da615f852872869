"""Apple's GPUs as a build without them shows them: programs that ask first run unchanged."""

__all__ = [
    "current_allocated_memory",
    "device_count",
    "driver_allocated_memory",
    "empty_cache",
    "is_available",
    "manual_seed",
    "recommended_max_memory",
    "seed",
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


def manual_seed(seed):
    """Seeds the generator, where there is one."""
    int(seed)


def seed():
    """Seeds the generator with a random number, where there is one."""
