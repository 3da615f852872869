"""Turns the writes that functionalization leaves in a graph into functions.

Some functional operators are composites that copy a tensor and write to the copy, which a trace
below composites shows. Here they become calls again:

    clone = aten.clone(x)                          fill = aten.fill(x, 1)
    fill_ = aten.fill_(clone, 1)               ->

    clone = aten.clone(x)                          as_strided_scatter =
    view = aten.as_strided(clone, [2], [4])    ->      aten.as_strided_scatter(x, y, [2], [4])
    copy_ = aten.copy_(view, y)
"""

import taeda
from taeda.fx.graph_module import GraphModule

_aten = taeda.ops.aten
_FLIPS = (_aten._conj.default, _aten._neg_view.default)


def remove_writes(graph, root):
    """Rewrites every such write and drops what nobody uses; other writes stay, for validation.

    Those in the graphs that `root` holds, which nodes call, too.
    """
    for child in root.modules():
        if isinstance(child, GraphModule):
            _remove_writes(child.graph)
            child.recompile()
    _remove_writes(graph)


def _remove_writes(graph):
    for node in list(graph.nodes):
        if node.op == "call_function" and _is_write(node.target):
            _rewrite(graph, node)
    graph.eliminate_dead_code()


def _is_write(target):
    name = getattr(target, "__name__", "").split(".")[0]
    is_operator = isinstance(target, taeda._ops.OpOverload)
    return is_operator and name.endswith("_") and not name.startswith("_")


def _functional(target):
    """The overload that returns the values which `target` writes; None if there is none."""
    name, _, overload = target.__name__.partition(".")
    packet = getattr(_aten, name[:-1], None)
    return getattr(packet, overload, None) if packet is not None else None


def _rewrite(graph, write):
    view, flips = write.args[0], []
    while view.target in _FLIPS:
        flips.append(view.target)
        view = view.args[0]
    is_part = view.target is _aten.as_strided.default
    whole = view.args[0] if is_part else view
    # Only tensors that were made for the write: nobody else sees it.
    if whole.target is not _aten.clone.default or (is_part and not _is_copy(write)):
        return
    make = _scatter if is_part else _function
    graph_call = make(graph, write, whole, view, flips)
    if graph_call is None:
        return
    graph_call.meta.update(whole.meta)
    if "stack_trace" in write.meta:
        graph_call.meta["stack_trace"] = write.meta["stack_trace"]
    later = _nodes_after(graph, graph_call)
    whole.replace_all_uses_with(graph_call, delete_user_cb=lambda user: user in later)
    if write.users:
        _replace_result(graph, write, whole, view, graph_call, is_part)
    graph.erase_node(write)


def _is_copy(write):
    return write.target is _aten.copy_.default


def _function(graph, write, whole, view, flips):
    functional = _functional(write.target)
    if functional is None or flips:
        return None
    with graph.inserting_before(write):
        return graph.call_function(functional, (_copied(whole), *write.args[1:]), write.kwargs)


def _scatter(graph, write, whole, view, flips):
    value = write.args[1]
    with graph.inserting_before(write):
        for flip in reversed(flips):
            value = graph.call_function(flip, (value,))
        return graph.call_function(
            _aten.as_strided_scatter.default, (_copied(whole), value, *view.args[1:])
        )


def _copied(clone):
    """The copied tensor itself, unless the copy has other strides."""
    return clone if clone.kwargs else clone.args[0]


def _replace_result(graph, write, whole, view, new, is_part):
    """Users of the result of the write take the new tensor."""
    seen = new
    if is_part:
        with graph.inserting_before(write):
            seen = graph.node_copy(view, lambda n: new if n is whole else n)
    write.replace_all_uses_with(seen)


def _nodes_after(graph, node):
    later, is_later = set(), False
    for other in graph.nodes:
        if is_later:
            later.add(other)
        is_later = is_later or other is node
    return later
