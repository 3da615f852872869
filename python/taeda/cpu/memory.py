"""Memory of CPU tensors: the part in use, the part kept for reuse, and how to give that back.

Names and keys are those of `torch.cuda`. The allocator keeps freed blocks: `reserved` counts what
the system has lent to it, `allocated` what tensors hold of that.
"""

from taeda._C import _dispatch

__all__ = [
    "empty_cache",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats",
]

_KEYS = {
    "allocated_bytes.all.current": "allocated_bytes",
    "allocated_bytes.all.peak": "allocated_peak",
    "reserved_bytes.all.current": "reserved_bytes",
    "reserved_bytes.all.peak": "reserved_peak",
    "allocation.all.allocated": "num_allocs",
    "allocation.all.freed": "num_frees",
    "num_device_alloc": "num_os_allocs",
}


def memory_stats(device=None):
    """A dictionary of all counters: bytes now and at their peak, blocks given out and taken back.

    `num_device_alloc` counts how often the system was asked for memory.
    """
    stats = _dispatch._allocator_stats()
    counters = {key: stats[name] for key, name in _KEYS.items()}
    counters["allocation.all.current"] = stats["num_allocs"] - stats["num_frees"]
    return dict(sorted(counters.items()))


def memory_allocated(device=None):
    """Bytes that tensors hold."""
    return memory_stats()["allocated_bytes.all.current"]


def max_memory_allocated(device=None):
    """The most bytes that tensors held at a time, since the start or the last reset."""
    return memory_stats()["allocated_bytes.all.peak"]


def memory_reserved(device=None):
    """Bytes that the system has lent to the allocator, those kept for reuse included."""
    return memory_stats()["reserved_bytes.all.current"]


def max_memory_reserved(device=None):
    """The most bytes that the system had lent at a time, since the start or the last reset."""
    return memory_stats()["reserved_bytes.all.peak"]


def reset_peak_memory_stats(device=None):
    """Lets the peaks start again from the current values."""
    _dispatch._reset_peak_stats()


def empty_cache():
    """Gives memory that is kept for reuse back to the system."""
    _dispatch._empty_cache()
