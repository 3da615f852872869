"""GraphModule compiles at its first call anyway; these are the names that ask for it."""

import contextlib

from taeda.fx.graph_module import GraphModule, _make_graph_module

__all__ = ["_LazyGraphModule", "_make_graph_module", "_use_lazy_graph_module"]

_LazyGraphModule = GraphModule


@contextlib.contextmanager
def _use_lazy_graph_module(should_use):
    yield
