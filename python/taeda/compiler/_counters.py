"""How often compilers did something, by kind and name."""

import collections

__all__ = ["GraphCompileReason", "counters", "graph_break_reasons", "keep_reason"]

counters = collections.defaultdict(collections.Counter)


class GraphCompileReason:
    """Why a graph ended, and where: the frames of the program, as tracebacks have them."""

    def __init__(self, reason, user_stack, graph_break=True):
        self.reason = reason
        self.user_stack = user_stack
        self.graph_break = graph_break

    def __repr__(self):
        parts = (f"{name}={value!r}" for name, value in vars(self).items())
        return f"GraphCompileReason({', '.join(parts)})"

    def __eq__(self, other):
        return isinstance(other, GraphCompileReason) and vars(self) == vars(other)

    __hash__ = None


# Of every capture so far, in their order.
graph_break_reasons = []


def keep_reason(text, file, line):
    """Keeps the cause and the place of a break."""
    import linecache
    import traceback

    frame = traceback.FrameSummary(file, line, "", line=linecache.getline(file, line).strip())
    graph_break_reasons.append(GraphCompileReason(text, [frame]))
