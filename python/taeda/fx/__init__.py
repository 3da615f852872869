"""Programs as graphs: traced, printed, rewritten, and run again as modules.

`symbolic_trace` runs a module on proxies and returns a GraphModule: a Graph of Nodes with the
Python code that does the same.
"""

from taeda.fx import immutable_collections
from taeda.fx._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from taeda.fx.graph import CodeGen, Graph
from taeda.fx.graph_module import GraphModule
from taeda.fx.interpreter import Interpreter, Transformer
from taeda.fx.node import Node, has_side_effect, map_arg
from taeda.fx.proxy import Proxy
from taeda.fx.subgraph_rewriter import replace_pattern

__all__ = [
    "PH",
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "ProxyableClassMeta",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]
