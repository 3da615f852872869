"""Nested containers of values: taken apart into leaves and a description, and put together again.

Lists, tuples, dicts and their relatives are known; other containers join with
`register_pytree_node`. Anything else is a leaf.
"""

import json
from collections import OrderedDict, defaultdict, deque, namedtuple

__all__ = [
    "Context",
    "FlattenFunc",
    "LeafSpec",
    "PyTree",
    "TreeSpec",
    "UnflattenFunc",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_structure",
    "tree_unflatten",
    "treespec_dumps",
    "treespec_loads",
    "treespec_pprint",
]

PyTree = object
Context = object
FlattenFunc = object
UnflattenFunc = object

# flatten(container) -> (children, context); unflatten(children, context) -> container
NodeDef = namedtuple("NodeDef", ["type", "flatten_fn", "unflatten_fn"])
SUPPORTED_NODES = {}
# How specs of a class are written to files: its name there, and its context to and from JSON.
Serialized = namedtuple("Serialized", ["name", "dump", "load"])
SERIALIZED_NODES = {}


def register_pytree_node(
    cls,
    flatten_fn,
    unflatten_fn,
    *,
    serialized_type_name=None,
    to_dumpable_context=None,
    from_dumpable_context=None,
    flatten_with_keys_fn=None,
):
    """Makes a class a container: `flatten_fn(x) -> (children, context)` and its inverse.

    With a `serialized_type_name` specs that hold the class can be written to files; contexts that
    JSON cannot hold need the two functions that convert them.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or "
            "registered."
        )
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn)
    if serialized_type_name is not None:
        SERIALIZED_NODES[cls] = Serialized(
            serialized_type_name, to_dumpable_context, from_dumpable_context
        )


_register_pytree_node = register_pytree_node


def _unflatten_namedtuple(children, cls):
    return cls(*children)


def _unflatten_defaultdict(children, context):
    factory, keys = context
    return defaultdict(factory, zip(keys, children))


register_pytree_node(
    list,
    lambda x: (x, None),
    lambda children, _: list(children),
    serialized_type_name="builtins.list",
)
register_pytree_node(
    tuple,
    lambda x: (list(x), None),
    lambda children, _: tuple(children),
    serialized_type_name="builtins.tuple",
)
register_pytree_node(
    dict,
    lambda d: (list(d.values()), list(d)),
    lambda children, keys: dict(zip(keys, children)),
    serialized_type_name="builtins.dict",
)
register_pytree_node(
    OrderedDict,
    lambda d: (list(d.values()), list(d)),
    lambda children, keys: OrderedDict(zip(keys, children)),
    serialized_type_name="collections.OrderedDict",
)
register_pytree_node(
    defaultdict,
    lambda d: (list(d.values()), [d.default_factory, list(d)]),
    _unflatten_defaultdict,
)
register_pytree_node(
    deque,
    lambda d: (list(d), d.maxlen),
    lambda children, maxlen: deque(children, maxlen),
    serialized_type_name="collections.deque",
)
_NAMEDTUPLE = NodeDef(namedtuple, lambda x: (list(x), type(x)), _unflatten_namedtuple)


def _is_namedtuple(cls):
    return (
        issubclass(cls, tuple)
        and isinstance(getattr(cls, "_fields", None), tuple)
        and callable(getattr(cls, "_make", None))
    )


def _node_of(value):
    """How to take this value apart; None for leaves."""
    cls = type(value)
    node = SUPPORTED_NODES.get(cls)
    if node is None and issubclass(cls, tuple):
        if _is_namedtuple(cls):
            return _NAMEDTUPLE
        if hasattr(cls, "n_sequence_fields"):  # taeda.return_types
            return NodeDef(cls, lambda x: (list(x), None), lambda children, _: cls(children))
    return node


class TreeSpec:
    """The shape of a tree: container type, its context, and the specs of its children."""

    __slots__ = ("_node", "children_specs", "context", "num_leaves", "num_nodes", "type")

    def __init__(self, type, context, children_specs, _node=None):
        self.type = type
        self.context = context
        self.children_specs = children_specs
        self._node = _node if _node is not None else SUPPORTED_NODES.get(type, _NAMEDTUPLE)
        self.num_nodes = 1 + sum(c.num_nodes for c in children_specs)
        self.num_leaves = sum(c.num_leaves for c in children_specs)

    def __reduce__(self):
        return type(self), (self.type, self.context, self.children_specs)

    @property
    def num_children(self):
        return len(self.children_specs)

    def children(self):
        return list(self.children_specs)

    def child(self, index):
        return self.children_specs[index]

    def is_leaf(self):
        return False

    def __eq__(self, other):
        if self is other:
            return True
        return (
            type(other) is type(self)
            and self.type is other.type
            and self.context == other.context
            and self.children_specs == other.children_specs
        )

    def __hash__(self):
        context = tuple(self.context) if isinstance(self.context, list) else self.context
        return hash((self.type, str(context), tuple(self.children_specs)))

    def __repr__(self, indent=0):
        head = f"TreeSpec({self.type.__name__}, {self.context}, ["
        pad = " " * (indent + len("TreeSpec("))
        if not self.children_specs:
            return head + "])"
        rows = [child.__repr__(indent + len("TreeSpec(")) for child in self.children_specs]
        return head + rows[0] + "".join(f",\n{pad}{row}" for row in rows[1:]) + "])"

    def unflatten(self, leaves):
        return tree_unflatten(leaves, self)

    def flatten_up_to(self, tree):
        """The parts of `tree` that stand where this spec has leaves."""
        out = []
        self._flatten_up_to(tree, out)
        return out

    def _flatten_up_to(self, tree, out):
        node = _node_of(tree)
        if node is None or node.type is not self.type:
            raise ValueError(f"Type mismatch; expected {self.type!r}, but got {type(tree)!r}.")
        children, context = node.flatten_fn(tree)
        if len(children) != self.num_children or context != self.context:
            raise ValueError(f"Node arity mismatch; expected {self}, but got {tree!r}.")
        for spec, child in zip(self.children_specs, children):
            spec._flatten_up_to(child, out)


class LeafSpec(TreeSpec):
    """A place for one value."""

    __slots__ = ()

    def __init__(self):
        self.type = None
        self.context = None
        self.children_specs = []
        self._node = None
        self.num_nodes = 1
        self.num_leaves = 1

    def __reduce__(self):
        return LeafSpec, ()

    def is_leaf(self):
        return True

    def __eq__(self, other):
        return type(other) is LeafSpec

    def __hash__(self):
        return hash(LeafSpec)

    def __repr__(self, indent=0):
        return "*"

    def _flatten_up_to(self, tree, out):
        out.append(tree)


_LEAF = LeafSpec()


def treespec_pprint(spec):
    """The spec as the containers would print, with `*` for leaves."""

    class _Star:
        def __repr__(self):
            return "*"

    return repr(tree_unflatten([_Star()] * spec.num_leaves, spec))


def _flatten(tree, leaves, is_leaf):
    node = _node_of(tree)
    if node is None or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return _LEAF
    children, context = node.flatten_fn(tree)
    return TreeSpec(node.type, context, [_flatten(c, leaves, is_leaf) for c in children], node)


def tree_flatten(tree, is_leaf=None):
    """(leaves, spec) of a tree."""
    leaves = []
    spec = _flatten(tree, leaves, is_leaf)
    return leaves, spec


def _take(spec, leaves):
    if spec._node is None:
        return next(leaves)
    return spec._node.unflatten_fn([_take(c, leaves) for c in spec.children_specs], spec.context)


def tree_unflatten(leaves, treespec):
    """The tree that `treespec` describes, with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten(leaves, treespec): Expected `treespec` to be instance of "
            f"TreeSpec but got item of type {type(treespec)}."
        )
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten(leaves, treespec): `leaves` has length {len(leaves)} "
            f"but the spec refers to a pytree that holds {treespec.num_leaves} "
            f"items ({treespec})."
        )
    return _take(treespec, iter(leaves))


def tree_iter(tree, is_leaf=None):
    """The leaves, one by one."""
    node = _node_of(tree)
    if node is None or (is_leaf is not None and is_leaf(tree)):
        yield tree
        return
    for child in node.flatten_fn(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree, is_leaf=None):
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree, is_leaf=None):
    return tree_flatten(tree, is_leaf)[1]


def tree_is_leaf(tree, is_leaf=None):
    return _node_of(tree) is None or (is_leaf is not None and is_leaf(tree))


_is_leaf = tree_is_leaf


def tree_map(func, tree, *rests, is_leaf=None):
    """`func` of each leaf (and of what stands in its place in `rests`), in the same containers."""
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(spec.flatten_up_to(r) if spec is not _LEAF else [r] for r in rests)]
    return tree_unflatten(map(func, *columns), spec)


def tree_map_(func, tree, *rests, is_leaf=None):
    """Calls `func` on each leaf for its effect; returns the tree."""
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(spec.flatten_up_to(r) if spec is not _LEAF else [r] for r in rests)]
    for row in zip(*columns):
        func(*row)
    return tree


def map_only(type_or_types_or_pred, /):
    """Makes a function act on values of some types only and pass others through."""
    if isinstance(type_or_types_or_pred, (type, tuple)):

        def is_meant(x):
            return isinstance(x, type_or_types_or_pred)

    elif callable(type_or_types_or_pred):
        is_meant = type_or_types_or_pred
    else:
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")

    def wrapper(func):
        return lambda x: func(x) if is_meant(x) else x

    return wrapper


def tree_map_only(type_or_types_or_pred, /, func, tree, is_leaf=None):
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, /, func, tree, is_leaf=None):
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types, /, pred, tree, is_leaf=None):
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types, /, pred, tree, is_leaf=None):
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def _broadcast(tree, spec, out):
    if spec._node is None:
        out.append(tree)
        return True
    node = _node_of(tree)
    if node is None:
        out.extend([tree] * spec.num_leaves)
        return True
    if node.type is not spec.type:
        return False
    children, context = node.flatten_fn(tree)
    if len(children) != spec.num_children or context != spec.context:
        return False
    return all(_broadcast(c, s, out) for c, s in zip(children, spec.children_specs))


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """One value for each leaf of `treespec`, a value above a leaf standing for all below it.

    None where the structures do not agree.
    """
    out = []
    return out if _broadcast(tree, treespec, out) else None


# ---- specs in files ----


def _dumped(spec):
    if spec.is_leaf():
        return None
    known = SERIALIZED_NODES.get(spec.type)
    if known is None:
        raise NotImplementedError(
            f"Serializing {spec.type} in pytree is not registered. "
            "Pass serialized_type_name to register_pytree_node."
        )
    context = known.dump(spec.context) if known.dump else spec.context
    return [known.name, context, [_dumped(child) for child in spec.children_specs]]


def _loaded(data):
    if data is None:
        return _LEAF
    name, context, children = data
    for cls, known in SERIALIZED_NODES.items():
        if known.name == name:
            context = known.load(context) if known.load else context
            return TreeSpec(cls, context, [_loaded(child) for child in children])
    raise NotImplementedError(
        f"Deserializing {name} in pytree is not registered: register its class first."
    )


def treespec_dumps(treespec, protocol=None):
    """The spec as text; classes must have been registered with a serialized_type_name."""
    return json.dumps([1, _dumped(treespec)])


def treespec_loads(serialized):
    """The spec of a text that treespec_dumps gave."""
    protocol, data = json.loads(serialized)
    if protocol != 1:
        raise ValueError(f"unknown protocol {protocol} of a tree spec")
    return _loaded(data)
