"""Calls of functions of graphs, by PyTorch's path: `taeda.fx.control_flow.invoke_subgraph`."""

from taeda.fx.control_flow.invoke_subgraph import invoke_subgraph

__all__ = ["invoke_subgraph"]
