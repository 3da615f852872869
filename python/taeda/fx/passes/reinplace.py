"""reinplace: operators whose argument nobody reads again write their result over it.

    c = clone(x)                              c = clone(x)
    y = add(c, 1)                    =>       y = add_(c, 1)
    return y                                  return c

What functionalization made of writes through views comes back as writes:

    s = slice(c, 0, 0, 2)                     s = slice(c, 0, 0, 2)
    t = mul(s, 2)                    =>       t = mul_(s, 2)
    u = slice_scatter(c, t, 0, 0, 2)
    return u                                  return c
"""

import operator

import taeda
from taeda._ops import OpOverload
from taeda.fx.node import Node, map_arg
from taeda.fx.passes.fake_tensor_prop import FakeTensorProp

__all__ = ["reinplace"]

aten = taeda.ops.aten

# A copy with a part replaced -> the view of that part.
_VIEW_OF_SCATTER = {
    aten.slice_scatter.default: aten.slice.Tensor,
    aten.select_scatter.default: aten.select.int,
    aten.diagonal_scatter.default: aten.diagonal.default,
    aten.as_strided_scatter.default: aten.as_strided.default,
}


def reinplace(gm, *sample_args):
    """Rewrites the graph of `gm`, made of functional aten operators, and returns the module.

    Arguments and attributes of the module are never written to. `sample_args` tell the shapes.
    """
    FakeTensorProp(gm).propagate(*sample_args)
    graph = gm.graph
    aliases = _Aliases(graph)
    position = {node: i for i, node in enumerate(graph.nodes)}
    for node in list(graph.nodes):
        if node.op != "call_function" or not isinstance(node.target, OpOverload):
            continue
        if node.target in _VIEW_OF_SCATTER:
            _replace_scatter(node, aliases, position)
        else:
            _write_in_place(node, aliases, position)
    graph.lint()
    gm.recompile()
    return gm


class _Aliases:
    """Sets of nodes whose values share memory."""

    def __init__(self, graph):
        self._sets = {}
        for node in graph.nodes:
            self.add(node, *_sources(node))

    def add(self, node, *sources):
        self._sets[node] = {node}
        for source in sources:
            self.join(node, source)

    def forget(self, node):
        self._sets.pop(node).discard(node)

    def join(self, a, b):
        merged = self._sets[a] | self._sets[b]
        for node in merged:
            self._sets[node] = merged

    def of(self, node):
        return self._sets[node]

    def is_owned(self, node):
        """Whether the graph made the memory itself."""
        return all(n.op == "call_function" for n in self._sets[node])


def _sources(node):
    """The arguments whose memory a node's value shares."""
    if node.target is operator.getitem:
        return [node.args[0]]
    if not isinstance(node.target, OpOverload):
        return node.all_input_nodes  # unknown: assume the worst
    arguments = node.target._schema.arguments
    named = {a.name: value for a, value in zip(arguments, node.args, strict=False)} | node.kwargs
    marked = [named.get(a.name) for a in arguments if a.alias_info is not None]
    return [value for value in marked if isinstance(value, Node)]


def _inplace_form(op):
    """The overload that writes over its first argument and takes the same ones, or None."""
    name = op._schema.name.split("::")[1]
    if op.namespace != "aten" or name.endswith("_") or op.is_view:
        return None
    packet = getattr(aten, f"{name}_", None)
    if packet is None:
        return None
    wanted = [(a.name, a.type) for a in op._schema.arguments]
    for overload in packet.overloads():
        found = getattr(packet, overload)
        arguments = found._schema.arguments
        if [(a.name, a.type) for a in arguments] == wanted and arguments[0].alias_info is not None:
            return found
    return None


def _geometry(value):
    return value.shape, value.stride(), value.storage_offset()


def _fits_over(node, value, aliases):
    """Whether a node's result may lie in the memory of `value`: same type and sizes, the same
    strides where they can be seen, no element twice in memory."""
    old, new = value.meta.get("val"), node.meta.get("val")
    if not isinstance(old, taeda.Tensor) or not isinstance(new, taeda.Tensor):
        return False
    layout = zip(old.shape, old.stride(), strict=True)
    if old.dtype != new.dtype or any(size > 1 and stride == 0 for size, stride in layout):
        return False
    if old.storage_offset() != new.storage_offset() and _has_absolute_view(node, aliases):
        return False
    if old.shape != new.shape:
        return False
    return old.stride() == new.stride() or not _shows_strides(node, aliases)


def _shows_strides(node, aliases):
    """Whether strides of the result matter: it is looked at through views, or returned."""
    return len(aliases.of(node)) > 1 or any(user.op == "output" for user in node.users)


def _has_absolute_view(node, aliases):
    """Whether a view of the node counts its offset from the start of the memory."""
    absolute = (aten.as_strided.default, aten.as_strided_scatter.default)
    return any(
        user.target in absolute and user.args[0] is alias
        for alias in aliases.of(node)
        for user in alias.users
    )


def _undoes(scatter, view, aliases):
    """Whether a scatter writes a view's memory to where it already is."""
    if scatter.target not in _VIEW_OF_SCATTER or scatter.args[1] is not view:
        return False
    base = scatter.args[0]
    if view not in aliases.of(base):
        return False
    args, kwargs = map_arg(
        ((base, *scatter.args[2:]), dict(scatter.kwargs)), lambda node: node.meta["val"]
    )
    part = _VIEW_OF_SCATTER[scatter.target](*args, **kwargs)
    return _geometry(part) == _geometry(view.meta["val"])


def _is_read_later(node, value, aliases, position):
    """Whether memory of `value` is read behind `node`, other than to put its result in place."""
    for alias in aliases.of(value):
        for user in alias.users:
            is_view = user in aliases.of(value) and not _writes(user)  # its own users count
            if position[user] <= position[node] or is_view:
                continue
            if not _will_vanish(user, node, value, aliases):
                return True
    return False


def _writes(node):
    return isinstance(node.target, OpOverload) and node.target._schema.is_mutable


def _will_vanish(user, node, value, aliases):
    """Whether `user` is a scatter of the node's result into the memory that it will be written
    to."""
    if user.target not in _VIEW_OF_SCATTER or user.args[1] is not node:
        return False
    user.update_arg(1, value)
    vanishes = _undoes(user, value, aliases)
    user.update_arg(1, node)
    return vanishes


def _write_in_place(node, aliases, position):
    inplace = _inplace_form(node.target)
    if inplace is None or not node.args or not isinstance(node.args[0], Node):
        return
    value = node.args[0]
    others = [n for n in node.all_input_nodes if n is not value]
    if any(n in aliases.of(value) for n in others) or not aliases.is_owned(value):
        return
    if not _fits_over(node, value, aliases):
        return
    if _is_read_later(node, value, aliases, position):
        return
    node.target = inplace
    node.replace_all_uses_with(value)
    aliases.join(node, value)


def _replace_scatter(node, aliases, position):
    """The base with its part written, where nobody needs the old base."""
    base, source = node.args[0], node.args[1]
    if isinstance(source, Node) and _undoes(node, source, aliases):
        # Else the copy stays, and finds what it would write there already.
        if _fits_over(node, base, aliases):
            _replace_by(node, base, aliases)
        return
    if not aliases.is_owned(base) or source in aliases.of(base):
        return
    if not _fits_over(node, base, aliases):
        return
    if _is_read_later(node, base, aliases, position):
        return
    graph = node.graph
    with graph.inserting_before(node):
        part = graph.call_function(
            _VIEW_OF_SCATTER[node.target], (base, *node.args[2:]), dict(node.kwargs)
        )
        written = graph.call_function(aten.copy_.default, (part, source))
    for new in (part, written):
        position[new] = position[node]
        aliases.add(new, base)
    _replace_by(node, base, aliases)


def _replace_by(node, base, aliases):
    """Takes a scatter out of the graph; its views look at the base."""
    node.replace_all_uses_with(base)
    aliases.join(node, base)
    aliases.forget(node)
    node.graph.erase_node(node)
