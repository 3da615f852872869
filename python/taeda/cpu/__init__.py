"""The CPU as a device among others: there is one, it is always there, and it is never behind."""

from taeda.cpu.memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_stats,
    reset_peak_memory_stats,
)
from taeda.cpu.streams import Event, Stream, StreamContext, current_stream, stream

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "device_count",
    "empty_cache",
    "is_available",
    "is_initialized",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats",
    "set_device",
    "stream",
    "synchronize",
]


def is_available():
    """True: there is a CPU."""
    return True


def is_initialized():
    """True: the CPU needs no preparation."""
    return True


def device_count():
    """The number of CPU devices, which is one."""
    return 1


def current_device():
    """The name of the current device."""
    return "cpu"


def set_device(device):
    """Changes nothing: there is one CPU."""


def synchronize(device=None):
    """Returns at once: work on the CPU is done when its call returns."""


def __getattr__(name):
    if name == "amp":
        from importlib import import_module

        return import_module("taeda.cpu.amp")
    raise AttributeError(f"module 'taeda.cpu' has no attribute '{name}'")
