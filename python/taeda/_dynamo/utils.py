"""PyTorch's path of counters (`taeda.compiler`), fake modes and comparisons."""

from taeda.backends._compiled import is_compile_supported
from taeda.compiler._counters import (
    counters,
    get_hook_for_recompile_user_context,
    graph_break_reasons,
    register_hook_for_recompile_user_context,
    reset_recompile_user_contexts,
)
from taeda.compiler._instruction_source import get_instruction_source_311
from taeda.compiler._metrics import clear_compilation_metrics, get_compilation_metrics
from taeda.compiler._metrics_records import CompilationMetrics
from taeda.compiler._testing_results import (
    clone_input,
    clone_inputs,
    clone_tensor,
    count_calls,
    disable_cache_limit,
    preserve_rng_state,
    rmse,
)
from taeda.fx.fake.modes import detect_fake_mode
from taeda.testing._comparison import same
from taeda.testing.expected_counts import ifdynstaticdefault, range_iterator

__all__ = [
    "CompilationMetrics",
    "clear_compilation_metrics",
    "clone_input",
    "clone_inputs",
    "clone_tensor",
    "count_calls",
    "counters",
    "detect_fake_mode",
    "disable_cache_limit",
    "get_compilation_metrics",
    "get_hook_for_recompile_user_context",
    "get_instruction_source_311",
    "graph_break_reasons",
    "ifdynstaticdefault",
    "is_compile_supported",
    "preserve_rng_state",
    "range_iterator",
    "register_hook_for_recompile_user_context",
    "reset_recompile_user_contexts",
    "rmse",
    "same",
]
