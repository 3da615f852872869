"""PyTorch's path of counters (`taeda.compiler`), fake modes and comparisons."""

from taeda.backends._compiled import is_compile_supported
from taeda.compiler._counters import counters
from taeda.fx.fake.modes import detect_fake_mode
from taeda.testing._comparison import same

__all__ = ["counters", "detect_fake_mode", "is_compile_supported", "same"]
