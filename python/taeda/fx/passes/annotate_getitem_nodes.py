"""annotate_getitem_nodes: the types of elements from the types of their containers."""

import operator
import typing

__all__ = ["annotate_getitem_nodes"]


def annotate_getitem_nodes(graph):
    """Gives nodes that take an element of an annotated tuple, list or named tuple its type."""
    for node in graph.find_nodes(op="call_function", target=operator.getitem):
        container, index = node.args
        if getattr(container, "type", None) is not None:
            element = _element_type(container.type, index)
            if element is not None:
                node.type = element


def _element_type(container, index):
    origin, args = typing.get_origin(container), typing.get_args(container)
    if origin is list and args:
        return args[0]
    if origin is tuple and args:
        if len(args) == 2 and args[1] is ...:
            return args[0]
        return _at(args, index)
    if hasattr(container, "_fields"):
        annotations = getattr(container, "__annotations__", {})
        return _at([annotations.get(name) for name in container._fields], index)
    return None


def _at(types, index):
    is_inside = isinstance(index, int) and -len(types) <= index < len(types)
    return types[index] if is_inside else None
