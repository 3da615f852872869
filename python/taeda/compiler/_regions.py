"""Regions of a program that are one function of the graph, however often they are called."""

import functools

from taeda._C._dynamo import as_operator, capture_body
from taeda.compiler import _known_calls
from taeda.compiler._substitutes import with_tensors
from taeda.fx.control_flow.invoke_subgraph import invoke_subgraph

__all__ = ["nested_compile_region"]


def nested_compile_region(fn=None, *, options=None, max_reuse_entries=8, reuse_hash_fn=None):
    """Marks a function: each call is one node of a captured graph, `invoke_subgraph`.

    Calls that do the same share one function of the graph, and the kernels of it are compiled once:
    of a model with many equal layers, mark the layer. Outside of captures nothing changes. Also a
    decorator, with or without arguments.
    """
    if options is not None:
        raise RuntimeError(
            "nested_compile_region config is an experimental feature for testing only."
        )
    if fn is None:
        return nested_compile_region
    if not callable(fn):
        raise TypeError(f"nested_compile_region takes a function, not {type(fn).__name__}")

    @functools.wraps(fn)
    def inner(*args, **kwargs):
        return fn(*args, **kwargs)

    def region(*args, **kwargs):
        body, taken, result, _ = capture_body(fn, args, kwargs)
        tensors = as_operator(invoke_subgraph, (body, None, *taken), {})
        return with_tensors(result, tensors)

    inner.__marked_compile_region_fn__ = fn
    _known_calls.note_substitute(inner, region)
    return inner
