"""NodeTiming: how long each node of a graph takes."""

import time
from collections import namedtuple

from taeda.fx.interpreter import Interpreter

__all__ = ["NodeTiming", "Row"]

# A node, its mean seconds a run, its part of the whole, and how often it ran.
Row = namedtuple("Row", ["node", "seconds", "share", "runs"])


class NodeTiming(Interpreter):
    """Runs a module as often as asked and keeps the seconds of every node.

    On a device that works behind the program's back, pass its `synchronize`.
    """

    def __init__(self, module, synchronize=None):
        super().__init__(module)
        self._synchronize = synchronize
        self.seconds = {}

    def run_node(self, n):
        start = self._now()
        result = super().run_node(n)
        self.seconds.setdefault(n, []).append(self._now() - start)
        return result

    def _now(self):
        if self._synchronize is not None:
            self._synchronize()
        return time.perf_counter()

    def rows(self):
        """A Row for each node that computes, the slowest first."""
        means = {
            node: sum(seconds) / len(seconds)
            for node, seconds in self.seconds.items()
            if node.op.startswith("call")
        }
        whole = sum(means.values()) or 1.0
        found = [
            Row(node, mean, mean / whole, len(self.seconds[node])) for node, mean in means.items()
        ]
        return sorted(found, key=lambda row: row.seconds, reverse=True)

    def summary(self, top=None):
        """The rows as text."""
        lines = [f"{'node':<24}{'what':<36}{'µs':>10}{'share':>8}{'runs':>6}"]
        for node, seconds, share, runs in self.rows()[:top]:
            what = node._pretty_print_target(node.target)
            lines.append(f"{node.name:<24}{what:<36}{seconds * 1e6:>10.1f}{share:>8.1%}{runs:>6}")
        return "\n".join(lines)
