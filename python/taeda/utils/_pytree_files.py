"""Specs of pytrees as JSON text, in the form PyTorch writes: either reads the other's."""

import json
from enum import Enum
from importlib import import_module

from taeda.utils._pytree_nodes import (
    NO_SERIALIZED_TYPE_NAME_FOUND,
    SERIALIZED_TYPE_TO_PYTHON_TYPE,
    SUPPORTED_SERIALIZED_TYPES,
)
from taeda.utils._pytree_spec import TreeSpec, treespec_leaf

DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL = 1
_HINT = "or register a custom serializer using _register_pytree_node."


class EnumEncoder(json.JSONEncoder):
    """Writes members of enumerations by class and name."""

    def default(self, obj):
        if isinstance(obj, Enum):
            cls = type(obj)
            return {
                "__enum__": True,
                "fqn": f"{cls.__module__}:{cls.__qualname__}",
                "name": obj.name,
            }
        return super().default(obj)


def enum_object_hook(obj):
    """The member of an enumeration that EnumEncoder wrote; other objects as they are."""
    if "__enum__" not in obj:
        return obj
    module, _, path = obj["fqn"].partition(":")
    cls = import_module(module)
    for name in path.split("."):
        cls = getattr(cls, name)
    return cls[obj["name"]]


def _dumped_context(spec, known):
    if known.to_dumpable_context is not None:
        return known.to_dumpable_context(spec.context)
    try:
        return json.dumps(spec.context, cls=EnumEncoder)
    except TypeError as error:
        raise TypeError(
            f"Unable to serialize context. Please make the context json dump-able, {_HINT}"
        ) from error


def _dumped(spec):
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    known = SUPPORTED_SERIALIZED_TYPES.get(spec.type)
    if known is None:
        raise NotImplementedError(f"Serializing {spec.type} in pytree is not registered.")
    if known.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your "
            "_register_pytree_node call with a `serialized_type_name` kwarg."
        )
    return {
        "type": known.serialized_type_name,
        "context": _dumped_context(spec, known),
        "children_spec": [_dumped(child) for child in spec.children()],
    }


def _loaded_context(data, known):
    if known.from_dumpable_context is not None:
        return known.from_dumpable_context(data)
    try:
        return json.loads(data, object_hook=enum_object_hook)
    except TypeError as error:
        raise TypeError(
            f"Unable to deserialize context. Please make the context json load-able, {_HINT}"
        ) from error


def _loaded(data):
    name, children = data["type"], data["children_spec"]
    if name is None and data["context"] is None and not children:
        return treespec_leaf()
    if name not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"Deserializing {name} in pytree is not registered.")
    cls = SERIALIZED_TYPE_TO_PYTHON_TYPE[name]
    context = _loaded_context(data["context"], SUPPORTED_SERIALIZED_TYPES[cls])
    return TreeSpec(cls, context, [_loaded(child) for child in children])


def _check_protocol(protocol):
    known = [DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL]
    if protocol not in known:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: {known}")


def treespec_dumps(treespec, protocol=None):
    """The spec as text; classes must have been registered with a serialized_type_name."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "Expected `treespec` to be an instance of PyTreeSpec but got item of type "
            f"{type(treespec)}."
        )
    protocol = DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL if protocol is None else protocol
    _check_protocol(protocol)
    return json.dumps((protocol, _dumped(treespec)), cls=EnumEncoder)


def treespec_loads(serialized):
    """The spec of a text that treespec_dumps gave."""
    protocol, data = json.loads(serialized)
    _check_protocol(protocol)
    return _loaded(data)
