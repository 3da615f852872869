"""PyTorch's path of counters (`taeda.compiler`), fake modes and comparisons."""

from taeda.backends._compiled import is_compile_supported
from taeda.compiler._counters import counters, graph_break_reasons
from taeda.fx.fake.modes import detect_fake_mode
from taeda.testing._comparison import same
from taeda.testing.expected_counts import ifdynstaticdefault, range_iterator

__all__ = [
    "counters",
    "detect_fake_mode",
    "graph_break_reasons",
    "ifdynstaticdefault",
    "is_compile_supported",
    "range_iterator",
    "same",
]
