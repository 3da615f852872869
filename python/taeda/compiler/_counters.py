"""How often compilers did something, by kind and name."""

import collections
import dataclasses
import linecache
import traceback

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
