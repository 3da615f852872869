"""How often compilers did something, by kind and name."""

import collections

__all__ = [
    "GraphCompileReason",
    "counters",
    "get_hook_for_recompile_user_context",
    "graph_break_reasons",
    "keep_reason",
    "recompile_contexts",
    "register_hook_for_recompile_user_context",
    "reset_recompile_user_contexts",
]

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


_hooks = []


def register_hook_for_recompile_user_context(hook):
    """Registers a function whose text the log of recompiles shows: what the program is at."""
    _hooks.append(hook)


def get_hook_for_recompile_user_context():
    """The functions that are registered; None without any."""
    return _hooks or None


def reset_recompile_user_contexts():
    """Forgets them."""
    _hooks.clear()


def recompile_contexts():
    """What they say now, each in at most 256 letters."""
    return [hook()[:256] for hook in _hooks]
