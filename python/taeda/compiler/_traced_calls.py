"""Calls of functions that `nonstrict_trace` marked, as one node of a captured graph.

Arguments and results of a node are tensors, numbers, and tuples, lists and dicts of them. An object
of a class that joined with `register_pytree_node` is handed over in parts, and made again on the
other side: the program flattens its arguments, where captures see it, and the node its results.
"""

from taeda._C._dynamo import as_operator
from taeda.utils._pytree_nodes import SUPPORTED_NODES, node_of

__all__ = ["call_traced"]


class _Parts:
    """Stands before the class, the context and the children of a container."""


def _taken_apart(tree):
    if type(tree) is tuple:
        return tuple([_taken_apart(item) for item in tree])
    if type(tree) is list:
        return [_taken_apart(item) for item in tree]
    if type(tree) is dict:
        return {key: _taken_apart(item) for key, item in tree.items()}
    node = node_of(tree)
    if node is None:
        return tree
    children, context = node.flatten_fn(tree)
    return _Parts, node.type, context, tuple([_taken_apart(child) for child in children])


def _put_together(tree):
    # Graphs have lists and dicts of classes of their own.
    if isinstance(tree, tuple) and len(tree) == 4 and tree[0] is _Parts:
        children = [_put_together(child) for child in tree[3]]
        return SUPPORTED_NODES[tree[1]].unflatten_fn(children, tree[2])
    if isinstance(tree, tuple):
        return tuple([_put_together(item) for item in tree])
    if isinstance(tree, list):
        return [_put_together(item) for item in tree]
    if isinstance(tree, dict):
        return {key: _put_together(item) for key, item in tree.items()}
    return tree


def call_traced(function, args, kwargs):
    """The call of the function inside of a capture."""
    given = _taken_apart(args), _taken_apart(kwargs)
    return _put_together(as_operator(_traced_call, (function, *given), {}))


def _traced_call(function, args, kwargs):
    """The call of a function by the graph, which compilers trace."""
    return _taken_apart(function(*_put_together(args), **_put_together(kwargs)))
