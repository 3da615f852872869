"""Python's own containers as nodes of pytrees."""

from collections import OrderedDict, defaultdict, deque, namedtuple
from importlib import import_module

from taeda._C import Size
from taeda.utils._pytree_keys import GetAttrKey, MappingKey, SequenceKey
from taeda.utils._pytree_nodes import (
    NO_SERIALIZED_TYPE_NAME_FOUND,
    SERIALIZED_TYPE_TO_PYTHON_TYPE,
    SUPPORTED_SERIALIZED_TYPES,
    _private_register_pytree_node,
    register_pytree_node,
)


def _tuple_flatten(d):
    return list(d), None


def _tuple_unflatten(values, context):
    return tuple(values)


def _list_flatten(d):
    return d, None


def _list_unflatten(values, context):
    return list(values)


def _list_flatten_with_keys(d):
    return [(SequenceKey(i), v) for i, v in enumerate(d)], None


_tuple_flatten_with_keys = _list_flatten_with_keys


def _dict_flatten(d):
    return list(d.values()), list(d)


def _dict_unflatten(values, context):
    return dict(zip(context, values, strict=True))


def _dict_flatten_with_keys(d):
    return [(MappingKey(k), v) for k, v in d.items()], list(d)


_ordereddict_flatten = _odict_flatten = _dict_flatten
_ordereddict_flatten_with_keys = _dict_flatten_with_keys


def _ordereddict_unflatten(values, context):
    return OrderedDict(zip(context, values, strict=True))


_odict_unflatten = _ordereddict_unflatten


def _defaultdict_flatten(d):
    return list(d.values()), [d.default_factory, list(d)]


def _defaultdict_flatten_with_keys(d):
    return _dict_flatten_with_keys(d)[0], [d.default_factory, list(d)]


def _defaultdict_unflatten(values, context):
    factory, keys = context
    return defaultdict(factory, zip(keys, values, strict=True))


def _defaultdict_serialize(context):
    factory, keys = context
    return {
        "default_factory_module": factory.__module__,
        "default_factory_name": factory.__qualname__,
        "dict_context": keys,
    }


def _defaultdict_deserialize(dumped):
    names = ("default_factory_module", "default_factory_name", "dict_context")
    if not isinstance(dumped, dict) or set(dumped) != set(names):
        raise AssertionError(f"dumpable_context keys must be {set(names)}, got {dumped}")
    module, factory, keys = (dumped[name] for name in names)
    return [getattr(import_module(module), factory), keys]


def _deque_flatten(d):
    return list(d), d.maxlen


def _deque_flatten_with_keys(d):
    return _list_flatten_with_keys(d)[0], d.maxlen


def _deque_unflatten(values, context):
    return deque(values, maxlen=context)


def _namedtuple_flatten(d):
    return list(d), type(d)


def _namedtuple_flatten_with_keys(d):
    return [(GetAttrKey(name), v) for name, v in zip(d._fields, d, strict=True)], type(d)


def _namedtuple_unflatten(values, context):
    return context(*values)


def _namedtuple_serialize(context):
    known = SUPPORTED_SERIALIZED_TYPES.get(context)
    if known is None or known.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {context} because we didn't register a "
            "serializated_type_name. Please register using `_register_namedtuple`."
        )
    return known.serialized_type_name


def _namedtuple_deserialize(dumped):
    if dumped not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(
            f"Can't deserialize TreeSpec of namedtuple class {dumped} "
            "because we couldn't find a serializated name."
        )
    return SERIALIZED_TYPE_TO_PYTHON_TYPE[dumped]


def _register_namedtuple(cls, *, serialized_type_name):
    """Gives a named tuple, which is a container without registration, a name in files."""
    _private_register_pytree_node(
        cls,
        _namedtuple_flatten,
        _namedtuple_unflatten,
        serialized_type_name=serialized_type_name,
        to_dumpable_context=_namedtuple_serialize,
        from_dumpable_context=_namedtuple_deserialize,
        flatten_with_keys_fn=_namedtuple_flatten_with_keys,
    )


_BUILTINS = ("tuple", "list", "dict")


def _register_builtin(cls, kind, **settings):
    functions = globals()
    register_pytree_node(
        cls,
        functions[f"_{kind}_flatten"],
        functions[f"_{kind}_unflatten"],
        serialized_type_name=f"{'builtins' if kind in _BUILTINS else 'collections'}.{cls.__name__}",
        flatten_with_keys_fn=functions[f"_{kind}_flatten_with_keys"],
        **settings,
    )


_register_builtin(tuple, "tuple")
_register_builtin(list, "list")
_register_builtin(dict, "dict")
_register_builtin(
    namedtuple,
    "namedtuple",
    to_dumpable_context=_namedtuple_serialize,
    from_dumpable_context=_namedtuple_deserialize,
)
_register_builtin(OrderedDict, "ordereddict")
_register_builtin(
    defaultdict,
    "defaultdict",
    to_dumpable_context=_defaultdict_serialize,
    from_dumpable_context=_defaultdict_deserialize,
)
_register_builtin(deque, "deque")

register_pytree_node(
    Size,
    _tuple_flatten,
    _tuple_unflatten,  # a size need not be a number while a program is traced
    serialized_type_name="torch.Size",
    flatten_with_keys_fn=_tuple_flatten_with_keys,
)

STANDARD_DICT_TYPES = frozenset({dict, OrderedDict, defaultdict})
BUILTIN_TYPES = frozenset({tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque})
