"""Scopes of autocast in captured graphs.

Captures have the calls by which `autocast` sets the thread's state, with the state around as
constants of the capture:

    set_autocast_enabled("cpu", True); set_autocast_dtype("cpu", bfloat16); ...
    matmul(x, y)
    ...; set_autocast_enabled("cpu", False)

A graph that runs anywhere has the scopes themselves, which put back what they found:

    scope = _enter_autocast("cpu", bfloat16, True, True)
    matmul(x, y)
    _exit_autocast(scope)
"""

from taeda import _C
from taeda.amp.autocast_mode import _enter_autocast, _exit_autocast

__all__ = ["write_autocast_scopes"]

_SETTERS = [_C.set_autocast_enabled, _C.set_autocast_dtype, _C.set_autocast_cache_enabled]


def _calls_from(node, targets):
    """The calls of these functions, one behind the other from a node on; none where one differs."""
    calls = []
    for target in targets:
        if node.op != "call_function" or node.target is not target:
            return []
        calls.append(node)
        node = node.next
    return calls


def write_autocast_scopes(module):
    """Writes the scopes of a graph module's graph."""
    graph, open_scopes, is_changed = module.graph, [], False
    node = next(iter(graph.nodes), None)
    while node is not None and node.op != "output":
        following = node.next
        begun = _calls_from(node, [*_SETTERS, _C.autocast_increment_nesting])
        clears = following.target is _C.clear_autocast_cache
        ended = _calls_from(
            node,
            [
                _C.autocast_decrement_nesting,
                *([_C.clear_autocast_cache] if clears else []),
                *_SETTERS,
            ],
        )
        if begun:
            (device, enabled), (_, dtype), (caches,) = (call.args for call in begun[:3])
            with graph.inserting_before(node):
                settings = (device, dtype, enabled, caches)
                open_scopes.append(graph.call_function(_enter_autocast, settings))
        elif ended and open_scopes:
            with graph.inserting_before(node):
                graph.call_function(_exit_autocast, (open_scopes.pop(),))
        else:
            node = following
            continue
        calls = begun or ended
        node = calls[-1].next
        for call in calls:
            graph.erase_node(call)
        is_changed = True
    if is_changed:
        module.recompile()
