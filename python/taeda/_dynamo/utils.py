"""PyTorch's path of counters (`taeda.compiler`), fake modes and comparisons."""

from taeda.compiler._counters import counters
from taeda.fx.fake.modes import detect_fake_mode
from taeda.testing._comparison import same

__all__ = ["counters", "detect_fake_mode", "is_compile_supported", "same"]


def is_compile_supported(device_type):
    """Whether `compile` makes code for a device."""
    return device_type.partition(":")[0] == "cpu"
