"""How often compilers did something, by kind and name."""

import collections

__all__ = ["GraphCompileReason", "counters", "graph_break_reasons", "keep_reason"]

counters = collections.defaultdict(collections.Counter)


class GraphCompileReason:
    """Why a graph ended, and where: the frames of the program, as tracebacks have them."""

    def __init__(self, reason, user_stack=None, graph_break=True, *, place=None):
        self.reason = reason
        self.graph_break = graph_break
        self._user_stack = user_stack
        self._place = place  # a file and a line in place of the frames

    @property
    def user_stack(self):
        if self._user_stack is None:
            from linecache import getline
            from traceback import FrameSummary

            file, line = self._place
            self._user_stack = [FrameSummary(file, line, "", line=getline(file, line).strip())]
        return self._user_stack

    def _fields(self):
        return {
            "reason": self.reason,
            "user_stack": self.user_stack,
            "graph_break": self.graph_break,
        }

    def __repr__(self):
        parts = (f"{name}={value!r}" for name, value in self._fields().items())
        return f"GraphCompileReason({', '.join(parts)})"

    def __eq__(self, other):
        return isinstance(other, GraphCompileReason) and self._fields() == other._fields()

    __hash__ = None


# Of every capture so far, in their order.
graph_break_reasons = []


def keep_reason(text, file, line):
    """Keeps the cause and the place of a break."""
    graph_break_reasons.append(GraphCompileReason(text, place=(file, line)))
