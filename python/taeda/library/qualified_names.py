"""Names of operators in the forms users give them."""

from taeda._ops import OpOverload, ops


def parse_qualname(qualname):
    """`("namespace", "name")` of `namespace::name`, maybe with `.overload`."""
    if not isinstance(qualname, str):
        raise ValueError(f"Expected `qualname` to be of type str, but got {type(qualname)}")
    parts = qualname.split("::")
    if len(parts) != 2:
        raise ValueError(
            'Expected `qualname` to be of the form "namespace::name", but got '
            f"{qualname}. The qualname passed to the torch.library APIs must consist of a "
            "namespace and a name, e.g. aten::sin"
        )
    return parts[0], parts[1]


def qualname_of(op, api_name):
    """The full name of an operator given by name, overload or CustomOpDef."""
    from taeda.library.custom_operators import CustomOpDef

    if isinstance(op, OpOverload):
        return op.name()
    if isinstance(op, CustomOpDef):
        return op._qualname
    if isinstance(op, str):
        return op
    raise ValueError(f"{api_name}({op}): got unexpected type for op: {type(op)}")


def find_overload(qualname):
    """The OpOverload of a full name, None if there is no such operator."""
    namespace, name = parse_qualname(qualname)
    name, _, overload = name.partition(".")
    try:
        packet = getattr(getattr(ops, namespace), name)
        return getattr(packet, overload or "default")
    except AttributeError:
        return None


def get_overload(qualname):
    """The OpOverload of a full name."""
    op = find_overload(qualname)
    if op is None:
        raise RuntimeError(f"operator {qualname} does not exist")
    return op
