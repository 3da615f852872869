"""Cuts of joint graphs into a forward and a backward graph; the cut is C++ (`taeda/aot`)."""

from taeda import _C
from taeda.fx.control_flow._regions import with_regions, with_submodules
from taeda.fx.graph_module import GraphModule
from taeda.utils._config_module import functorch_config

__all__ = ["default_partition", "min_cut_rematerialization_partition"]


def _is_tangent(node):
    return "tangents" in str(node.target)


def _cut(joint_module, num_fwd_outputs, recomputes):
    nodes = list(joint_module.graph.find_nodes(op="placeholder"))
    num_inputs = sum(not _is_tangent(node) for node in nodes)
    budget = functorch_config.activation_memory_budget
    graph = with_regions(joint_module)
    parts = _C._aot.partition(graph, num_inputs, num_fwd_outputs, recomputes, budget)
    return tuple(_part(joint_module, part) for part in parts)


def _part(joint_module, graph):
    names = [node.target for node in graph.find_nodes(op="get_attr")]
    root = with_submodules(graph)
    for name in names:
        setattr(root, name, getattr(joint_module, name))
    return GraphModule(root, graph)


def default_partition(joint_module, _joint_inputs, *, num_fwd_outputs, **_):
    """Everything that the backward reads of the forward is saved."""
    return _cut(joint_module, num_fwd_outputs, False)


def min_cut_rematerialization_partition(
    joint_module, _joint_inputs, compiler="inductor", *, num_fwd_outputs, **_
):
    """As few bytes as possible are saved; what is cheap is computed again in the backward.

    With `functorch.config.activation_memory_budget` below 1, products and reductions are computed
    again as well, until that share of the bytes is left.
    """
    return _cut(joint_module, num_fwd_outputs, True)
