"""The operators a region called, for the error of a checkpoint that ran differently twice."""

import contextlib

from taeda import _C
from taeda.utils._recompute import CheckpointError

_REPORT = """An error happened while unpacking tensors; the operators of both calls follow.
You are seeing this error because you passed `debug=True` to checkpoint, or
set_checkpoint_debug_enabled(True) is on.

Operations executed during the original forward:

{forward}

Operations executed during recomputation:

{recomputed}

ERROR: Detected non-determinism while running activation checkpointing
{error}"""


class OperatorLog:
    """Context managers that list operator calls, and the error that shows both lists."""

    def __init__(self):
        self.forward, self.recomputed = [], []

    def contexts(self):
        return self._listing(self.forward), self._listing(self.recomputed)

    @contextlib.contextmanager
    def _listing(self, names):
        names.clear()
        events = []
        _C._dispatch._trace(events)
        try:
            yield
        finally:
            _C._dispatch._trace(None)
            names += [name for category, name in events if category == "op"]

    def report(self, error):
        return CheckpointError(
            _REPORT.format(
                forward="\n".join(self.forward),
                recomputed="\n".join(self.recomputed),
                error=error,
            )
        )
