"""Cuts of joint graphs into a forward and a backward graph; the cut is C++ (`taeda/aot`)."""

from taeda import _C
from taeda.fx.control_flow._regions import with_regions, with_submodules
from taeda.fx.graph_module import GraphModule
from taeda.utils._config_module import functorch_config
from taeda.utils._selective import CheckpointPolicy

__all__ = ["default_partition", "min_cut_rematerialization_partition"]


# What a program says of a node of the joint graph in meta["recompute"].
_AGAIN = (CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.PREFER_RECOMPUTE)
_ONCE = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)


def _is_tangent(node):
    return "tangents" in str(node.target)


def _tag_sides(graph):
    """Says of each node whether tangents reach it."""
    behind = set()
    for node in graph.nodes:
        is_tangent = node.op == "placeholder" and _is_tangent(node)
        if is_tangent or not behind.isdisjoint(node.all_input_nodes):
            behind.add(node)
        if node.op == "call_function":
            node.meta["partitioner_tag"] = "is_backward" if node in behind else "is_forward"


def _names_with(graph, *policies):
    return [node.name for node in graph.nodes if node.meta.get("recompute") in policies]


def _cut(joint_module, num_fwd_outputs, recomputes):
    nodes = list(joint_module.graph.find_nodes(op="placeholder"))
    num_inputs = sum(not _is_tangent(node) for node in nodes)
    _tag_sides(joint_module.graph)
    graph = with_regions(joint_module)
    parts = _C._aot.partition(
        graph,
        num_inputs,
        num_fwd_outputs,
        recomputes,
        functorch_config.activation_memory_budget,
        _names_with(joint_module.graph, *_AGAIN),
        _names_with(joint_module.graph, *_ONCE),
    )
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
    again as well, until that share of the bytes is left. A node whose meta["recompute"] is a
    `CheckpointPolicy` is computed again, or never, as that says.
    """
    return _cut(joint_module, num_fwd_outputs, True)
