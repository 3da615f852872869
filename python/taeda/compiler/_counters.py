"""How often compilers did something, by kind and name."""

import collections
import dataclasses
import linecache
import traceback

__all__ = ["GraphCompileReason", "counters", "graph_break_reasons", "keep_reason"]

counters = collections.defaultdict(collections.Counter)


@dataclasses.dataclass
class GraphCompileReason:
    """Why a graph ended, and where: the frames of the program, as tracebacks have them."""

    reason: str
    user_stack: list
    graph_break: bool = True


# Of every capture so far, in their order.
graph_break_reasons = []


def keep_reason(text, file, line):
    """Keeps the cause and the place of a break."""
    frame = traceback.FrameSummary(file, line, "", line=linecache.getline(file, line).strip())
    graph_break_reasons.append(GraphCompileReason(text, [frame]))
