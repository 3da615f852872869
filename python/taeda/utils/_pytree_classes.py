"""Classes of the user's own in pytrees: dataclasses by their fields, constants without leaves."""

import dataclasses

from taeda.utils._pytree_keys import GetAttrKey
from taeda.utils._pytree_nodes import CONSTANT_NODES, _private_register_pytree_node


def _checked_fields(cls, field_names, drop_field_names):
    """The names of the fields that are children."""
    if not dataclasses.is_dataclass(cls):
        if field_names is None:
            raise ValueError(
                "field_names must be specified with a list of all fields used to "
                f"initialize {cls}, as it is not a dataclass."
            )
        return field_names
    known = [f.name for f in dataclasses.fields(cls) if f.init]
    if field_names is None:
        return known
    wanted, given = set(known) - set(drop_field_names), set(field_names)
    if wanted == given:
        return field_names
    message = "field_names does not include all dataclass fields.\n"
    if wanted - given:
        message += (
            f"Missing fields in `field_names`: {wanted - given}. If you want to include these "
            "fields in the pytree, please add them to `field_names`, otherwise please add them to "
            "`drop_field_names`.\n"
        )
    if given - wanted:
        message += (
            f"Unexpected fields in `field_names`: {given - wanted}. Please remove these fields, or "
            "add them to `drop_field_names`.\n"
        )
    raise ValueError(message)


def register_dataclass(
    cls,
    *,
    field_names=None,
    drop_field_names=None,
    serialized_type_name=None,
    return_none_fields=False,
):
    """Makes the fields of a dataclass children; fields that are None belong to the structure.

    A class that is no dataclass names its fields, which its constructor takes by keyword.
    return_none_fields: fields that are None are children too.
    """
    names = _checked_fields(cls, field_names, drop_field_names or [])

    def flatten(obj):
        values = {name: getattr(obj, name) for name in names}
        absent = [n for n in names if values[n] is None and not return_none_fields]
        present = [n for n in names if n not in absent]
        return [values[name] for name in present], [present, absent]

    def unflatten(values, context):
        present, absent = context
        return cls(**dict(zip(present, values, strict=True)), **dict.fromkeys(absent))

    def flatten_with_keys(obj):
        values, context = flatten(obj)
        return [(GetAttrKey(name), v) for name, v in zip(context[0], values)], context

    _private_register_pytree_node(
        cls,
        flatten,
        unflatten,
        serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=flatten_with_keys,
    )


@dataclasses.dataclass(frozen=True)
class ConstantNode:
    """The context of a constant: the value itself."""

    value: object


def register_constant(cls):
    """Makes a class a node without leaves: its values are part of the structure.

    Structures are compared, so the class needs `__eq__` and `__hash__` of its own.
    """
    if cls.__eq__ is object.__eq__:
        raise TypeError(
            "register_constant(cls) expects `cls` to have a non-default `__eq__` implementation."
        )
    if cls.__hash__ is None:
        raise TypeError(
            "register_constant(cls) expects `cls` to have a non-default `__hash__` implementation."
        )
    _private_register_pytree_node(
        cls,
        lambda x: ([], ConstantNode(x)),
        lambda _, context: context.value,
        flatten_with_keys_fn=lambda x: ([], ConstantNode(x)),
    )
    CONSTANT_NODES.add(cls)


def is_constant_class(cls):
    """Whether a class was registered as a constant."""
    return isinstance(cls, type) and cls in CONSTANT_NODES


def _is_constant_holder(spec):
    """Whether a spec is that of a constant."""
    return isinstance(spec.context, ConstantNode)


def _retrieve_constant(spec):
    """The constant that a spec holds."""
    if not _is_constant_holder(spec):
        raise AssertionError("spec does not correspond to a registered constant pytree")
    return spec.context.value
