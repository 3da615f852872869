"""The structure of a pytree: containers, their contexts, and places for leaves."""

from collections import defaultdict, deque

from taeda.utils import _pytree_nodes as nodes
from taeda.utils._pytree_containers import BUILTIN_TYPES, STANDARD_DICT_TYPES


class TreeSpec:
    """The shape of a tree: container type, its context, and the specs of its children."""

    __slots__ = ("_children", "_context", "_node", "num_leaves", "num_nodes", "type")

    def __init__(self, type, context, children_specs, _node=None):
        self.type = type
        self._context = context
        self._children = children_specs
        self._node = nodes.SUPPORTED_NODES.get(type) if _node is None else _node
        self.num_nodes = 1 + sum(c.num_nodes for c in children_specs)
        self.num_leaves = sum(c.num_leaves for c in children_specs)

    def __reduce__(self):
        # The node holds functions: found again by type where the spec is read.
        return TreeSpec, (self.type, self._context, self._children)

    @property
    def context(self):
        return self._context

    @property
    def children_specs(self):
        return self._children

    @property
    def num_children(self):
        return len(self._children)

    def children(self):
        return list(self._children)

    def child(self, index):
        return self._children[index]

    def is_leaf(self):
        return False

    def __eq__(self, other):
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (
            type(other) is type(self)
            and self.type is other.type
            and self._context == other._context
            and self._children == other._children
        )

    def __hash__(self):
        return hash((self.type, _hashable(self.type, self._context), tuple(self._children)))

    def __repr__(self, indent=0):
        indent += 2
        rows = [child.__repr__(indent) for child in self._children]
        inner = (",\n" + " " * indent).join(rows)
        return f"TreeSpec({self.type.__name__}, {self._context}, [{inner}])"

    def unflatten(self, leaves):
        """The tree with these leaves."""
        leaves = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec "
                f"refers to a pytree that holds {self.num_leaves} items ({self})."
            )
        return self._built(iter(leaves))

    def _built(self, leaves):
        children = [child._built(leaves) for child in self._children]
        return self._node.unflatten_fn(children, self._context)

    def flatten_up_to(self, tree):
        """The parts of `tree` that stand where this spec has leaves."""
        out = []
        self._flatten_up_to(tree, out)
        return out

    def _flatten_up_to(self, tree, out):
        cls = nodes._get_node_type(tree)
        is_builtin = self.type in BUILTIN_TYPES
        if self.type in STANDARD_DICT_TYPES and cls in STANDARD_DICT_TYPES:
            children = self._values_by_key(tree)
        elif cls is not self.type:
            what = "Node type mismatch" if is_builtin else "Type mismatch"
            raise ValueError(f"{what}; expected {self.type!r}, but got {cls!r}.")
        else:
            children, context = self._node.flatten_fn(tree)
            self._check_arity(len(children))
            if context != self._context and cls is not deque:  # maxlen may differ
                raise ValueError(self._context_mismatch(context, is_builtin))
        for spec, child in zip(self._children, children, strict=True):
            spec._flatten_up_to(child, out)

    def _check_arity(self, count):
        if count != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {count}.")

    def _context_mismatch(self, context, is_builtin):
        if not is_builtin:
            return f"Node context mismatch for custom node type {self.type!r}."
        return (
            f"Node context mismatch for node type {self.type!r}; "
            f"expected {self._context!r}, but got {context!r}."
        )

    def _values_by_key(self, tree):
        """Dicts of any kind stand for one another; the spec's order of keys counts."""
        self._check_arity(len(tree))
        keys = self._context[1] if self.type is defaultdict else self._context
        missing, extra = set(keys) - set(tree), set(tree) - set(keys)
        if missing or extra:
            message = f"; missing key(s): {missing}" if missing else ""
            message += f"; extra key(s): {extra}" if extra else ""
            raise ValueError(f"Node keys mismatch{message}.")
        return [tree[key] for key in keys]


def _hashable(cls, context):
    if cls is defaultdict:
        return context[0], tuple(context[1])
    if isinstance(context, list):
        return str(context) if cls not in STANDARD_DICT_TYPES else tuple(context)
    return context if getattr(type(context), "__hash__", None) is not None else str(context)


class LeafSpec(TreeSpec):
    """A place for one value."""

    __slots__ = ()

    def __init__(self):
        super().__init__(None, None, [])
        self.num_leaves = 1

    def __reduce__(self):
        return treespec_leaf, ()

    def is_leaf(self):
        return True

    def __repr__(self, indent=0):
        return "*"

    def _built(self, leaves):
        return next(leaves)

    def _flatten_up_to(self, tree, out):
        out.append(tree)


PyTreeSpec = TreeSpec
_LEAF_SPEC = LeafSpec()


def treespec_leaf():
    """The spec of a leaf."""
    return _LEAF_SPEC


def treespec_tuple(iterable=(), /):
    """The spec of a tuple with these specs in it."""
    children = list(iterable)
    if any(not isinstance(child, TreeSpec) for child in children):
        raise ValueError(f"Expected a tuple of TreeSpec values, got: {children!r}.")
    return TreeSpec(tuple, None, children)


def treespec_dict(mapping=(), /, **kwargs):
    """The spec of a dict with these specs in it."""
    specs = dict(mapping, **kwargs)
    if any(not isinstance(child, TreeSpec) for child in specs.values()):
        raise ValueError(f"Expected a dictionary of TreeSpec values, got: {specs!r}.")
    return TreeSpec(dict, list(specs), list(specs.values()))
