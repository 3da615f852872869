"""The symbols of a traced graph: what its inputs bind, and whether other inputs pass its guards."""

__all__ = [
    "bind_symbols",
    "eval_guards",
    "find_symbol_binding_fx_nodes",
    "fx_placeholder_targets",
    "fx_placeholder_vals",
    "is_accessor_node",
    "is_symbol_binding_fx_node",
]


def fx_placeholder_vals(gm):
    """The example values of a graph's inputs."""
    return [n.meta["val"] for n in gm.graph.nodes if n.op == "placeholder"]


def fx_placeholder_targets(gm):
    """The names of a graph's inputs."""
    return [n.target for n in gm.graph.nodes if n.op == "placeholder"]


def eval_guards(gm, *args, ignore_static=True):
    """Whether other inputs pass the guards under which a graph was traced."""
    return gm.shape_env.evaluate_guards_for_args(
        fx_placeholder_vals(gm), args, ignore_static=ignore_static
    )


def bind_symbols(gm, *args):
    """The values that a graph's symbols have for other inputs."""
    return gm.shape_env.bind_symbols(fx_placeholder_vals(gm), args)


def is_symbol_binding_fx_node(node):
    """The symbol that a node stands for, if any: an input, or a number read from data."""
    from taeda import SymInt

    value = node.meta.get("val")
    if not isinstance(value, SymInt) or not value.node.expr.is_symbol:
        return None
    is_bound_here = node.op == "placeholder" or not value.node.has_hint()
    return value.node.expr if is_bound_here else None


def find_symbol_binding_fx_nodes(graph):
    """The first node that stands for each symbol."""
    nodes = {}
    for node in graph.nodes:
        if (symbol := is_symbol_binding_fx_node(node)) is not None:
            nodes.setdefault(symbol, node)
    return nodes


def is_accessor_node(node):
    """Whether a node reads a size, a stride, the offset or the number of elements of a tensor."""
    import taeda

    aten = taeda.ops.aten
    readers = (aten.sym_size, aten.sym_stride, aten.sym_storage_offset, aten.sym_numel)
    return node.op == "call_function" and getattr(node.target, "overloadpacket", None) in readers
