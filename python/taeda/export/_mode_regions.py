"""Makes calls of a traced graph's grad modes and autocast regions, which then hold what is inside.

_set_grad_enabled = _C._set_grad_enabled(False)
mm = aten.mm(x, x)                                submod_1 = get_attr[submod_1]
_set_grad_enabled_1 = ..._set_grad_enabled(True)  wrap = wrap_with_set_grad_enabled(False,
relu = aten.relu(mm)                          ->      submod_1, x)
                                                  getitem = wrap[0]
                                                  relu = aten.relu(getitem)
"""

import dataclasses
import operator

import taeda
from taeda import _C
from taeda.amp.autocast_mode import _enter_autocast, _exit_autocast
from taeda.export._module_calls import is_tracepoint
from taeda.fx.control_flow.mode_scopes import wrap_with_autocast, wrap_with_set_grad_enabled
from taeda.fx.graph import Graph
from taeda.fx.graph_module import GraphModule


@dataclasses.dataclass
class _Run:
    """Nodes that follow each other under the same modes."""

    grad: bool
    casts: tuple  # nodes that entered autocast regions
    nodes: list


def wrap_mode_regions(graph, root, grad_enabled):
    """Replaces the calls that set modes; `root` gets the submodules.

    grad_enabled: the mode that the program runs under.
    """
    runs, calls = _runs(graph, grad_enabled)
    if not calls:
        return
    for index, run in enumerate(runs):
        if run.grad != grad_enabled or run.casts:
            _wrap(graph, root, run, grad_enabled, f"submod_{index}")
    for call in reversed(calls):
        graph.erase_node(call)


def _runs(graph, grad):
    """(runs, calls that set modes)"""
    casts, runs, calls = (), [], []
    for node in graph.nodes:
        if node.target is _C._set_grad_enabled:
            grad = node.args[0]
            calls.append(node)
        elif node.target is _enter_autocast:
            casts = (*casts, node)
            calls.append(node)
        elif node.target is _exit_autocast:
            casts = tuple(entered for entered in casts if entered is not node.args[0])
            calls.append(node)
        elif node.op not in ("placeholder", "output") and not is_tracepoint(node):
            if not runs or (runs[-1].grad, runs[-1].casts) != (grad, casts):
                runs.append(_Run(grad, casts, []))
            runs[-1].nodes.append(node)
    return runs, calls


def _wrap(graph, root, run, grad_enabled, name):
    inside = set(run.nodes)
    inputs = {}
    for node in run.nodes:
        inputs |= dict.fromkeys(n for n in node.all_input_nodes if n not in inside)
    outputs = [n for n in run.nodes if any(user not in inside for user in n.users)]
    module = _submodule(root, run.nodes, inputs, outputs)
    layers = [(wrap_with_autocast, node.args) for node in run.casts]
    if run.grad != grad_enabled:
        layers.append((wrap_with_set_grad_enabled, (run.grad,)))
    for layer in reversed(layers[1:]):
        module = _layer(layer, module, inputs, outputs)
    with graph.inserting_before(run.nodes[0]):
        call, results = _call(graph, root, layers[0], module, name, list(inputs), outputs)
    # A node made from several modules belongs to the module around them.
    stack = _common_stack(run.nodes)
    for node in (call.args[len(layers[0][1])], call, *results):
        node.meta["nn_module_stack"] = stack
    for old, new in zip(outputs, results, strict=True):
        old.replace_all_uses_with(new, delete_user_cb=lambda user: user not in inside)
    for node in reversed(run.nodes):
        graph.erase_node(node)


def _submodule(root, nodes, inputs, outputs):
    """The nodes as a module of their own."""
    graph, values, own = Graph(), {}, taeda.nn.Module()
    _add_inputs(graph, inputs, values)
    for node in nodes:
        values[node] = graph.node_copy(node, lambda n: values[n])
        if node.op == "get_attr" and isinstance(getattr(root, node.target, None), GraphModule):
            setattr(own, node.target, getattr(root, node.target))
    graph.output(tuple(values[n] for n in outputs))
    return GraphModule(own, graph)


def _layer(layer, module, inputs, outputs):
    """A module that calls another one under a mode."""
    graph, values, own = Graph(), {}, taeda.nn.Module()
    _add_inputs(graph, inputs, values)
    _, results = _call(graph, own, layer, module, "submod_0", list(values.values()), outputs)
    graph.output(tuple(results))
    return GraphModule(own, graph)


def _add_inputs(graph, inputs, values):
    for node in inputs:
        values[node] = graph.create_node("placeholder", node.name, name=node.name)
        values[node].meta.update(node.meta)


def _call(graph, root, layer, module, name, operands, outputs):
    """The node that calls a module under a mode, and those of its results."""
    wrap, settings = layer
    setattr(root, name, module)
    get = graph.create_node("get_attr", name)
    call = graph.call_function(wrap, (*settings, get, *operands))
    call.meta["val"] = tuple(n.meta.get("val") for n in outputs)
    results = []
    for i, node in enumerate(outputs):
        results.append(graph.call_function(operator.getitem, (call, i)))
        results[-1].meta.update(node.meta)
    return call, results


def _common_stack(nodes):
    """The calls of modules that all nodes are in."""
    stacks = [list(n.meta["nn_module_stack"].items()) for n in nodes if "nn_module_stack" in n.meta]
    common = []
    for entries in zip(*stacks):
        if any(entry != entries[0] for entry in entries):
            break
        common.append(entries[0])
    return dict(common)
