"""Programs as graphs: traced, printed, rewritten, and run again as modules.

`symbolic_trace` runs a module on proxies and returns a GraphModule: a Graph of Nodes with the
Python code that does the same.
"""

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

# Names that live in modules of their own, loaded when first asked for: a compiled function needs
# fake tensors and symbols of this package, and none of these.
_PARTS = {
    "_symbolic_trace": ("PH", "ProxyableClassMeta", "Tracer", "symbolic_trace", "wrap"),
    "graph": ("CodeGen", "Graph"),
    "graph_module": ("GraphModule",),
    "interpreter": ("Interpreter", "Transformer"),
    "node": ("Node", "has_side_effect", "map_arg"),
    "proxy": ("Proxy",),
    "subgraph_rewriter": ("replace_pattern",),
}
_LAZY = {name: part for part, names in _PARTS.items() for name in names}


def __getattr__(name):
    from importlib import import_module

    if name in _LAZY:
        value = getattr(import_module(f"taeda.fx.{_LAZY[name]}"), name)
        globals()[name] = value
        return value
    if not name.startswith("__"):
        try:
            return import_module(f"taeda.fx.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"taeda.fx.{name}":
                raise
    raise AttributeError(f"module 'taeda.fx' has no attribute '{name}'")


def __dir__():
    return sorted({*globals(), *__all__})
