"""Runs passes of a program on a graph, and keeps the graph one that can be compiled."""

import operator
from functools import partial

from taeda import _C
from taeda.compiler._errors import PassError
from taeda.fx.node import map_arg
from taeda.utils import _pytree as pytree

from .custom_graph_pass import CustomInferenceAwareGraphPass, get_custom_graph_passes

__all__ = ["bound_passes", "one_after_the_other"]


def _interface(graph):
    """The numbers of inputs and results of a graph."""
    outputs = graph.find_nodes(op="output")
    results = pytree.tree_leaves(outputs[0].args, is_leaf=lambda x: x is None) if outputs else []
    return len(graph.find_nodes(op="placeholder")), len(results)


def _calls(graph):
    """What each node calls, and with what: by this a later look tells nodes that changed."""
    nodes = graph.find_nodes(op="call_function")
    # A constant is told by its text too: 1, 1.0 and True are equal.
    return {node: (node.target, node.args, node.kwargs, repr(node.args)) for node in nodes}


def _description(val):
    """What a compiler reads of a value; sizes by their text, so that nothing is asked of them."""
    return [
        (x.dtype, x.device, str(tuple(x.shape)), str(x.stride()), str(x.storage_offset()))
        if isinstance(x, _C.Tensor)
        else (type(x), str(x))
        for x in pytree.tree_leaves(val, is_leaf=lambda x: x is None)
    ]


def _storages(val):
    return {
        x.untyped_storage()._cdata
        for x in pytree.tree_leaves(val)
        if isinstance(x, _C.Tensor) and x.layout is _C.strided
    }


def _update_values(graph, before):
    """Computes what nodes give that are new or call something else, and what follows from it.

    A pass may have given a new node the value of another one: then the compiler would take one for
    a view of the other.
    """
    replaced = set()
    for node, call in _calls(graph).items():
        is_changed = before.get(node) != call
        if not is_changed and replaced.isdisjoint(node.all_input_nodes):
            continue
        args, kwargs = map_arg((node.args, node.kwargs), lambda n: n.meta["val"])
        val = node.target(*args, **kwargs)
        if node in before and "val" in node.meta:
            known, inputs = node.meta["val"], _storages((args, kwargs))
            keeps_views = _storages(known) & inputs == _storages(val) & inputs
            if keeps_views and _description(known) == _description(val):
                continue
        node.meta["val"] = val
        replaced.add(node)


def _drop_unread_parts(graph):
    """Removes results of operators that nothing reads: patterns count who reads an operator."""
    for node in reversed(graph.find_nodes(op="call_function", target=operator.getitem)):
        if not node.users:
            graph.erase_node(node)


def _run(graph, run, has_values, is_inference):
    from .pattern_matcher import stable_topological_sort

    inputs_and_results = _interface(graph)
    before = _calls(graph)
    if isinstance(run, CustomInferenceAwareGraphPass):
        run(graph, is_inference)
    else:
        run(graph)
    stable_topological_sort(graph)
    graph.lint()
    if _interface(graph) != inputs_and_results:
        raise RuntimeError(
            "a pass changed the number of inputs or results of a graph, which must stay: there "
            f"were {inputs_and_results[0]} inputs and {inputs_and_results[1]} results"
        )
    if has_values:
        _update_values(graph, before)


def bound_passes(given, is_inference):
    """The passes of a setting, where those that ask know whether the program has no gradients."""

    def bound(run):
        if not isinstance(run, CustomInferenceAwareGraphPass):
            return run
        call = partial(run, is_inference=is_inference)
        call.__name__ = type(run).__name__
        return call

    return tuple(map(bound, get_custom_graph_passes(given)))


def one_after_the_other(*passes, lowerings=(), has_values=True, is_inference=False):
    """The passes that are set, each one or a list of them, as a function of a graph; None for none.

    lowerings: passes behind them, of the program's own lowerings.
    has_values: nodes have values of a trace, which follow what passes change.
    """
    passes = [run for given in passes for run in get_custom_graph_passes(given)]

    def run_all(graph):
        _drop_unread_parts(graph)
        for run in passes:
            try:
                _run(graph, run, has_values, is_inference)
            except Exception as error:
                raise PassError(run, error) from error
        for run in lowerings:
            _run(graph, run, has_values, is_inference)

    return run_all if passes or lowerings else None
