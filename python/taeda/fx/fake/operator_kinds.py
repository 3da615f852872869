"""Operators by how fake tensors treat them, found in schemas and tags."""

from taeda._ops import Tag, all_overloads
from taeda._schema_types import DeviceObjType, OptionalType, TensorType

__all__ = [
    "device_not_kwarg_ops",
    "found_set",
    "get_fast_op_impls",
    "is_tensor_constructor",
    "like_tensor_constructors",
]

_DEVICE = OptionalType(DeviceObjType.get())
_OPTIONS = {"dtype", "layout", "device", "pin_memory"}


def _holds_tensor(schema):
    return any(TensorType.text in part.type for part in [*schema.arguments, *schema.returns])


def device_not_kwarg_ops():
    """Operators on tensors whose device may be given by position."""
    return {
        op
        for op in all_overloads()
        if _holds_tensor(op._schema)
        and any(a.type.isSubtypeOf(_DEVICE) and not a.kwarg_only for a in op._schema.arguments)
    }


def is_tensor_constructor(op):
    """Whether an operator makes one tensor and takes none."""
    schema = op._schema
    if any(TensorType.text in argument.type for argument in schema.arguments):
        return False
    return len(schema.returns) == 1 and schema.returns[0].type == TensorType.text


def like_tensor_constructors():
    """Operators that make a tensor after another one, with options, and copy no values."""
    found = set()
    for op in all_overloads():
        arguments = op._schema.arguments
        named = {a.name for a in arguments if a.kwarg_only}
        is_after_tensor = bool(arguments) and arguments[0].type == TensorType.text
        if is_after_tensor and named >= _OPTIONS and "non_blocking" not in named:
            found.add(op)
    return found


def _rule_of(op):
    def run(mode, *args, **kwargs):
        with mode:
            return op(*args, **kwargs)

    return run


def get_fast_op_impls():
    """The rules of pointwise operators, as functions of a fake mode and the arguments."""
    return {op: _rule_of(op) for op in all_overloads() if Tag.pointwise in op.tags}


_SETS = {
    "_device_not_kwarg_ops": device_not_kwarg_ops,
    "_like_tensor_constructors": like_tensor_constructors,
}


def found_set(name, module):
    """The set of operators by PyTorch's name for it, found anew: programs may define operators."""
    if name not in _SETS:
        raise AttributeError(f"module '{module}' has no attribute '{name}'")
    return _SETS[name]()
