"""CSEPass: computes once what a graph computes twice.

a = cos(x); b = cos(x); return a + b      →      a = cos(x); return a + a
"""

import taeda
from taeda.fx.node import Node
from taeda.fx.passes.infra.pass_base import PassBase, PassResult

__all__ = ["CSEPass", "get_CSE_banned_ops"]

# Operators that give fresh memory, which a program may write to.
_FRESH = ("empty", "empty_like", "empty_strided", "new_empty", "empty_permuted")


def get_CSE_banned_ops():
    """Operators whose calls stay apart: new memory, random values."""
    found = set()
    for name in (*_FRESH, "rand", "rand_like", "randn", "randn_like", "dropout", "bernoulli"):
        packet = getattr(taeda.ops.aten, name, None)
        if packet is not None:
            found.add(packet)
            found.update(getattr(packet, overload) for overload in packet.overloads())
    return found


class CSEPass(PassBase):
    """Calls of the same function with the same arguments become one."""

    def __init__(self, banned_ops=None):
        super().__init__()
        self.banned_ops = set(banned_ops or ())

    def call(self, graph_module):
        graph, known, modified = graph_module.graph, {}, False
        for node in graph.nodes:
            if node.op != "call_function" or self._is_banned(node):
                continue
            key = (node.target, _key(node.args), _key(node.kwargs))
            first = known.setdefault(key, node)
            if first is not node:
                node.replace_all_uses_with(first)
                graph.erase_node(node)
                modified = True
        graph_module.recompile()
        return PassResult(graph_module, modified)

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
