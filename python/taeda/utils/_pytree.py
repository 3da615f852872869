"""Nested containers of values: taken apart into leaves and a description, and put together again.

Lists, tuples, dicts and their relatives are known; other containers join with
`register_pytree_node`. Anything else is a leaf.
"""

from taeda.utils._pytree_classes import (  # noqa: F401
    ConstantNode,
    _is_constant_holder,
    _retrieve_constant,
    is_constant_class,
    register_constant,
    register_dataclass,
)
from taeda.utils._pytree_containers import (  # noqa: F401
    BUILTIN_TYPES,
    STANDARD_DICT_TYPES,
    _defaultdict_flatten,
    _defaultdict_flatten_with_keys,
    _defaultdict_unflatten,
    _deque_flatten,
    _deque_flatten_with_keys,
    _deque_unflatten,
    _dict_flatten,
    _dict_flatten_with_keys,
    _dict_unflatten,
    _list_flatten,
    _list_flatten_with_keys,
    _list_unflatten,
    _namedtuple_flatten,
    _namedtuple_flatten_with_keys,
    _namedtuple_unflatten,
    _odict_flatten,
    _odict_unflatten,
    _ordereddict_flatten,
    _ordereddict_flatten_with_keys,
    _ordereddict_unflatten,
    _register_namedtuple,
    _tuple_flatten,
    _tuple_flatten_with_keys,
    _tuple_unflatten,
)
from taeda.utils._pytree_files import (  # noqa: F401
    DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL,
    EnumEncoder,
    enum_object_hook,
    treespec_dumps,
    treespec_loads,
)
from taeda.utils._pytree_keys import (
    GetAttrKey,
    KeyEntry,
    KeyPath,
    MappingKey,
    SequenceKey,
    key_get,
    keystr,
)
from taeda.utils._pytree_nodes import (  # noqa: F401
    CONSTANT_NODES,
    NO_SERIALIZED_TYPE_NAME_FOUND,
    SERIALIZED_TYPE_TO_PYTHON_TYPE,
    SUPPORTED_NODES,
    SUPPORTED_SERIALIZED_TYPES,
    NodeDef,
    _deregister_pytree_node,
    _get_node_type,
    _private_register_pytree_node,
    _register_pytree_node,
    _SerializeNodeDef,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    is_structseq,
    is_structseq_class,
    is_structseq_instance,
    node_of,
    register_pytree_node,
)
from taeda.utils._pytree_spec import (
    _LEAF_SPEC,
    LeafSpec,
    PyTreeSpec,
    TreeSpec,
    treespec_dict,
    treespec_leaf,
    treespec_tuple,
)

__all__ = [
    "ConstantNode",
    "Context",
    "DumpableContext",
    "EnumEncoder",
    "FlattenFn",
    "FlattenFunc",
    "FromDumpableContextFn",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "LeafSpec",
    "MappingKey",
    "NodeDef",
    "PyTree",
    "PyTreeSpec",
    "SequenceKey",
    "ToDumpableContextFn",
    "TreeSpec",
    "UnflattenFn",
    "UnflattenFunc",
    "arg_tree_leaves",
    "is_constant_class",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "is_structseq",
    "is_structseq_class",
    "is_structseq_instance",
    "key_get",
    "keystr",
    "register_constant",
    "register_dataclass",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_dict",
    "treespec_dumps",
    "treespec_leaf",
    "treespec_loads",
    "treespec_pprint",
    "treespec_tuple",
]

# Names for annotations.
PyTree = Context = DumpableContext = object
FlattenFn = FlattenFunc = UnflattenFn = UnflattenFunc = object
ToDumpableContextFn = FromDumpableContextFn = FlattenWithKeysFn = FlattenWithKeysFunc = object


# ---- taken apart ----


def _flatten(tree, leaves, is_leaf):
    node = node_of(tree)
    if node is None or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return _LEAF_SPEC
    children, context = node.flatten_fn(tree)
    return TreeSpec(node.type, context, [_flatten(c, leaves, is_leaf) for c in children], node)


def tree_flatten(tree, is_leaf=None):
    """(leaves, spec) of a tree."""
    leaves = []
    spec = _flatten(tree, leaves, is_leaf)
    return leaves, spec


def tree_iter(tree, is_leaf=None):
    """The leaves, one by one."""
    node = node_of(tree)
    if node is None or (is_leaf is not None and is_leaf(tree)):
        yield tree
        return
    for child in node.flatten_fn(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree, is_leaf=None):
    return list(tree_iter(tree, is_leaf))


def arg_tree_leaves(*args, **kwargs):
    """The leaves of the arguments of a call."""
    return tree_leaves((args, kwargs))


def tree_structure(tree, is_leaf=None):
    return tree_flatten(tree, is_leaf)[1]


def tree_is_leaf(tree, is_leaf=None):
    return node_of(tree) is None or (is_leaf is not None and is_leaf(tree))


_is_leaf = tree_is_leaf


# ---- with the path to each leaf ----


def _paths(path, tree, is_leaf):
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    node = node_of(tree)
    if node.flatten_with_keys_fn is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {node.type}. "
            "Please pass a flatten_with_keys_fn argument to register_pytree_node."
        )
    for key, child in node.flatten_with_keys_fn(tree)[0]:
        yield from _paths((*path, key), child, is_leaf)


_generate_key_paths = _paths


def tree_leaves_with_path(tree, is_leaf=None):
    """(path, leaf) for each leaf; a path is a tuple of keys, `keystr` prints it."""
    return list(_paths((), tree, is_leaf))


def tree_flatten_with_path(tree, is_leaf=None):
    """tree_leaves_with_path and the spec."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


# ---- put together ----


def tree_unflatten(leaves, treespec):
    """The tree that `treespec` describes, with these leaves."""
    if not isinstance(treespec, TreeSpec):
        if not isinstance(leaves, TreeSpec):
            raise TypeError(
                "Expected `treespec` to be an instance of PyTreeSpec but got item of type "
                f"{type(treespec)}."
            )
        leaves, treespec = treespec, leaves
    return treespec.unflatten(leaves)


class _Asterisk(str):
    __slots__ = ()

    def __repr__(self):
        return "*"


def treespec_pprint(treespec):
    """The spec as the containers would print, with `*` for leaves."""
    return repr(treespec.unflatten([_Asterisk("*")] * treespec.num_leaves))


# ---- functions of leaves ----


def tree_map(func, tree, *rests, is_leaf=None):
    """`func` of each leaf and the values at its place in `rests`, in the same containers."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *(spec.flatten_up_to(r) for r in rests)))


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """tree_map whose function takes the path of the leaf first."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    paths, leaves = [p for p, _ in pairs], [leaf for _, leaf in pairs]
    return spec.unflatten(map(func, paths, leaves, *(spec.flatten_up_to(r) for r in rests)))


def tree_map_(func, tree, *rests, is_leaf=None):
    """Calls `func` on each leaf for its effect; returns the tree."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for row in zip(leaves, *(spec.flatten_up_to(r) for r in rests)):
        func(*row)
    return tree


def map_only(type_or_types_or_pred, /):
    """Makes a function act on values of some types only and pass others through."""
    if isinstance(type_or_types_or_pred, (type, tuple, _UnionType)):

        def is_meant(x):
            return isinstance(x, type_or_types_or_pred)

    elif callable(type_or_types_or_pred):
        is_meant = type_or_types_or_pred
    else:
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")

    def wrapper(func):
        return lambda x: func(x) if is_meant(x) else x

    return wrapper


_UnionType = type(int | str)


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


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """One value for each leaf of `treespec`, a value above a leaf standing for all below it.

    None where the structures do not agree.
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    full = treespec.unflatten([0] * treespec.num_leaves)
    try:
        parts = spec.flatten_up_to(full)
    except ValueError:
        return None
    out = []
    for leaf, part in zip(leaves, parts, strict=True):
        out += [leaf] * len(tree_leaves(part, is_leaf))
    return out


# ---- older names ----


def pytree_to_str(treespec):
    return treespec_dumps(treespec)


def str_to_pytree(json):
    return treespec_loads(json)
