"""Tensors of a trace that the program keeps: they have no values and are of no use afterwards."""

import gc
import warnings

__all__ = ["warn_of_leaks"]


def warn_of_leaks(tracer):
    """Warns of the results of operators that somebody still holds, with the lines that made them.

    Called after the trace, when nothing of its own holds them.
    """
    gc.collect()
    nodes = tracer.live_nodes()
    if not nodes:
        return
    places = "\n".join(f"\n{node.name}:\n{node.meta.get('stack_trace', '')}" for node in nodes)
    warnings.warn(
        f"Detected {len(nodes)} fake tensors that are still alive after export. "
        "This is likely result of torch.export.export not being able to track side effects that "
        "is happening outside of model scope. They have no values: keep numbers or shapes, or "
        f"return the tensors. Those that are held were made here:\n{places}",
        stacklevel=2,
    )
