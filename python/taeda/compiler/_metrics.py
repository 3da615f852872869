"""What the compiles of this process took, and why those that failed did."""

import collections
import time

__all__ = ["clear_compilation_metrics", "get_compilation_metrics", "measured"]

_KEPT = 64
_metrics = collections.deque(maxlen=_KEPT)


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
        _metrics.append((*self._counts, seconds, *failure))
        return False


def get_compilation_metrics():
    """The metrics of the latest graphs, the oldest first."""
    from taeda.compiler._metrics_records import CompilationMetrics

    return [CompilationMetrics(*fields) for fields in _metrics]


def clear_compilation_metrics():
    """Forgets them."""
    _metrics.clear()
