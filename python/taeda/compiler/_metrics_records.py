"""What one compile took."""

import dataclasses

__all__ = ["CompilationMetrics"]


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
