"""The classes that are containers of pytrees: how each is taken apart and put together."""

import threading
import warnings
from collections import namedtuple

from taeda.utils._pytree_keys import SequenceKey

# flatten(container) -> (children, context); unflatten(children, context) -> container;
# flatten_with_keys(container) -> ([(key, child)], context), or None.
NodeDef = namedtuple("NodeDef", ["type", "flatten_fn", "unflatten_fn", "flatten_with_keys_fn"])
_SerializeNodeDef = namedtuple(
    "_SerializeNodeDef",
    ["typ", "serialized_type_name", "to_dumpable_context", "from_dumpable_context"],
)

NO_SERIALIZED_TYPE_NAME_FOUND = "NO_SERIALIZED_TYPE_NAME_FOUND"

SUPPORTED_NODES = {}
SUPPORTED_SERIALIZED_TYPES = {}
SERIALIZED_TYPE_TO_PYTHON_TYPE = {}
CONSTANT_NODES = set()
_RETURN_TYPES = ("taeda.return_types", "torch.return_types")
_LOCK = threading.RLock()


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
    JSON cannot hold need the two functions that convert them. `flatten_with_keys_fn` gives
    `([(key, child), ...], context)` and serves the functions that tell paths.
    """
    with _LOCK:
        if cls in SUPPORTED_NODES:
            raise ValueError(f"{cls} is already registered as pytree node.")
        _private_register_pytree_node(
            cls,
            flatten_fn,
            unflatten_fn,
            serialized_type_name=serialized_type_name,
            to_dumpable_context=to_dumpable_context,
            from_dumpable_context=from_dumpable_context,
            flatten_with_keys_fn=flatten_with_keys_fn,
        )


def _private_register_pytree_node(
    cls,
    flatten_fn,
    unflatten_fn,
    *,
    serialized_type_name=None,
    to_dumpable_context=None,
    from_dumpable_context=None,
    flatten_with_keys_fn=None,
):
    """The same; a class that is known already is replaced, with a warning."""
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or "
            "registered."
        )
    with _LOCK:
        if cls in SUPPORTED_NODES:
            warnings.warn(
                f"{cls} is already registered as pytree node. "
                "Overwriting the previous registration.",
                stacklevel=2,
            )
        SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
        _note_serialized(cls, serialized_type_name, to_dumpable_context, from_dumpable_context)


def _note_serialized(cls, name, dump, load):
    name = NO_SERIALIZED_TYPE_NAME_FOUND if name is None else name
    SUPPORTED_SERIALIZED_TYPES[cls] = _SerializeNodeDef(cls, name, dump, load)
    SERIALIZED_TYPE_TO_PYTHON_TYPE[name] = cls


def _register_pytree_node(cls, flatten_fn, unflatten_fn, *_deprecated, **settings):
    """The older name of register_pytree_node, which replaces what was registered."""
    warnings.warn(
        "`torch.utils._pytree._register_pytree_node` is deprecated. "
        "Please use `torch.utils._pytree.register_pytree_node` instead.",
        FutureWarning,
        stacklevel=2,
    )
    _private_register_pytree_node(cls, flatten_fn, unflatten_fn, **settings)


def _deregister_pytree_node(cls):
    """Makes a class a leaf again."""
    with _LOCK:
        del SUPPORTED_NODES[cls]
        name = SUPPORTED_SERIALIZED_TYPES.pop(cls).serialized_type_name
        SERIALIZED_TYPE_TO_PYTHON_TYPE.pop(name, None)
        CONSTANT_NODES.discard(cls)


# ---- what kind of tuple ----


def is_namedtuple_class(cls):
    """Whether a class was made by namedtuple, or inherits from one that was."""
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(getattr(cls, "_fields", None), tuple)
        and all(type(field) is str for field in cls._fields)
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
    )


def is_namedtuple_instance(obj):
    """Whether a value is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj):
    """Whether a value is a named tuple, or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


_CAN_BE_INHERITED = 1 << 10  # Py_TPFLAGS_BASETYPE


def is_structseq_class(cls):
    """Whether a class is a struct sequence: a tuple with names that C code defined."""
    return (
        isinstance(cls, type)
        and cls.__bases__ == (tuple,)
        and all(
            isinstance(getattr(cls, name, None), int)
            for name in ("n_fields", "n_sequence_fields", "n_unnamed_fields")
        )
        and not cls.__flags__ & _CAN_BE_INHERITED
    )


def is_structseq_instance(obj):
    """Whether a value is a struct sequence."""
    return is_structseq_class(type(obj))


def is_structseq(obj):
    """Whether a value is a struct sequence, or a class of them."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def _get_node_type(tree):
    """The class under which a value is registered; `namedtuple` for all named tuples."""
    cls = type(tree)
    if issubclass(cls, tuple) and cls is not tuple:
        if is_namedtuple_class(cls):
            return namedtuple
        if cls.__module__ in _RETURN_TYPES and cls not in SUPPORTED_NODES:
            _register_return_type(cls)
    return cls


def node_of(tree):
    """How to take this value apart; None for leaves."""
    return SUPPORTED_NODES.get(_get_node_type(tree))


def _register_return_type(cls):
    """The tuples that operators with several results return; their classes are made when needed."""
    register_pytree_node(
        cls,
        lambda x: (list(x), None),
        lambda children, _: cls(children),
        flatten_with_keys_fn=lambda x: ([(SequenceKey(i), v) for i, v in enumerate(x)], None),
    )
