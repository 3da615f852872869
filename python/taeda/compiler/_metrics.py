"""What the compiles of this process took, and why those that failed did."""

import collections
import dataclasses
import time

__all__ = ["CompilationMetrics", "clear_compilation_metrics", "get_compilation_metrics", "measured"]

_KEPT = 64
_metrics = collections.deque(maxlen=_KEPT)


@dataclasses.dataclass(frozen=True)
class CompilationMetrics:
    """One graph, from the end of its capture."""

    graph_op_count: int
    graph_input_count: int
    backend_compile_time_s: float
    fail_type: str | None = None
    fail_reason: str | None = None
    # The time until a compile failed.
    dynamo_time_before_restart_s: float = 0.0


class measured:
    """The scope of the compile of a graph; its metrics are kept at the end, whatever ends it."""

    def __init__(self, op_count, input_count):
        self._counts = (op_count, input_count)

    def __enter__(self):
        self._start = time.perf_counter()
        return self

    def __exit__(self, kind, error, trace):
        seconds = time.perf_counter() - self._start
        failure = (kind.__name__, f"{kind.__name__}: {error}", seconds) if error else ()
        _metrics.append(CompilationMetrics(*self._counts, seconds, *failure))
        return False


def get_compilation_metrics():
    """The metrics of the latest graphs, the oldest first."""
    return list(_metrics)


def clear_compilation_metrics():
    """Forgets them."""
    _metrics.clear()
