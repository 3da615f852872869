"""Scopes of grad modes and autocast in an exported graph: their names, and the modules around."""

from taeda.export._module_calls import tracepoint
from taeda.fx.control_flow.mode_scopes import wrap_with_autocast, wrap_with_set_grad_enabled
from taeda.fx.graph import Graph


def wrap_mode_scopes(graph, grad_enabled):
    """Makes calls with regions of a traced graph's modes (`taeda/fx/passes/mode_scopes.h`).

    grad_enabled: the mode that the program runs under. Gives the names of the regions by their
    calls.
    """
    names = {}
    for call, number in graph._wrap_mode_scopes(grad_enabled, tracepoint):
        names[call] = f"submod_{number}"
        # A node made from several modules belongs to the module around them.
        call.meta["nn_module_stack"] = stack = _common_stack(list(_nodes_inside(call)))
        for result in call.users:
            result.meta["nn_module_stack"] = stack
    return names


def _nodes_inside(call):
    """Those of the region of a scope, or of the scope that it is around."""
    region = next(arg for arg in call.args if isinstance(arg, Graph))
    for node in region.nodes:
        if node.op == "placeholder":
            continue
        is_scope = node.target in (wrap_with_autocast, wrap_with_set_grad_enabled)
        yield from _nodes_inside(node) if is_scope else (node,)


def _common_stack(nodes):
    """The calls of modules that all nodes are in."""
    stacks = [list(n.meta["nn_module_stack"].items()) for n in nodes if "nn_module_stack" in n.meta]
    common = []
    for entries in zip(*stacks):
        if any(entry != entries[0] for entry in entries):
            break
        common.append(entries[0])
    return dict(common)
