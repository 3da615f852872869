"""CSEPass: computes once what a graph computes twice.

a = cos(x); b = cos(x); return a + b      →      a = cos(x); return a + a
"""

import copy

import taeda
from taeda.fx.graph_module import GraphModule
from taeda.fx.node import Node
from taeda.fx.passes.infra.pass_base import PassBase, PassResult

__all__ = ["CSEPass", "get_CSE_banned_ops"]


def get_CSE_banned_ops():
    """Operators whose calls stay apart: memory that nobody wrote, random values."""
    found = set()
    for key in taeda._C._dispatch.samples():
        name, _, rest = key.partition(".")
        packet = getattr(taeda.ops.aten, name)
        overload = getattr(packet, rest or "default")
        is_random = taeda.Tag.nondeterministic_seeded in overload.tags
        if is_random or "empty" in name.split("_"):
            found |= {packet, *(getattr(packet, other) for other in packet.overloads())}
    return found


class CSEPass(PassBase):
    """Calls of the same function with the same arguments become one, in a new module."""

    def __init__(self, banned_ops=None):
        super().__init__()
        self.banned_ops = set(banned_ops or ())

    def call(self, graph_module):
        graph, known, modified = copy.deepcopy(graph_module.graph), {}, False
        for node in graph.nodes:
            if node.op != "call_function" or self._is_banned(node):
                continue
            key = (node.target, _key(node.args), _key(node.kwargs))
            first = known.setdefault(key, node)
            if first is not node:
                node.replace_all_uses_with(first)
                graph.erase_node(node)
                modified = True
        return PassResult(GraphModule(graph_module, graph), modified)

    def _is_banned(self, node):
        packet = getattr(node.target, "overloadpacket", None)
        return node.target in self.banned_ops or packet in self.banned_ops or node.is_impure()


def _key(value):
    """The argument as something that can be compared and hashed, with its types."""
    if isinstance(value, Node):
        return value
    if isinstance(value, dict):
        return tuple((k, _key(v)) for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return (type(value), *map(_key, value))
    if isinstance(value, slice):
        return (slice, _key(value.start), _key(value.stop), _key(value.step))
    return (type(value), value if type(value).__hash__ is not None else id(value))
