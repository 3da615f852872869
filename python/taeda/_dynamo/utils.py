"""PyTorch's path of counters (`taeda.compiler`), fake modes and comparisons."""

from taeda.backends._compiled import is_compile_supported
from taeda.compiler._counters import counters
from taeda.compiler._instruction_source import get_instruction_source_311
from taeda.compiler._metrics import (
    CompilationMetrics,
    clear_compilation_metrics,
    get_compilation_metrics,
)
from taeda.fx.fake.modes import detect_fake_mode
from taeda.testing._comparison import same
from taeda.testing.expected_counts import ifdynstaticdefault, range_iterator

__all__ = [
    "CompilationMetrics",
    "clear_compilation_metrics",
    "counters",
    "detect_fake_mode",
    "get_compilation_metrics",
    "get_instruction_source_311",
    "ifdynstaticdefault",
    "is_compile_supported",
    "range_iterator",
    "same",
]
