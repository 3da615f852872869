"""Arguments of calls by the signatures of what is called."""

import inspect
import types
from collections import namedtuple

import taeda
from taeda._own_names import own_module

__all__ = [
    "ArgsKwargsPair",
    "check_for_mutable_operation",
    "create_type_hint",
    "get_signature_for_torch_op",
    "normalize_function",
    "normalize_module",
    "type_matches",
]

ArgsKwargsPair = namedtuple("ArgsKwargsPair", ["args", "kwargs"])

# Types of schemas as Python types; a list of numbers may also be one number.
_TYPES = {
    "Tensor": (taeda.Tensor,),
    "int": (int,),
    "SymInt": (int,),
    "float": (float, int),
    "bool": (bool,),
    "str": (str,),
    "Scalar": (int, float, complex, bool),
    "ScalarType": (taeda.dtype,),
    "Device": (taeda.device, str),
    "Layout": (taeda.layout,),
    "MemoryFormat": (taeda.memory_format,),
    "Generator": (taeda.Generator,),
}


def _packet_of(op):
    """The operators behind a function of taeda, a packet or an overload; None for others."""
    if hasattr(op, "overloads"):
        return op
    if isinstance(op, types.BuiltinFunctionType) and (op.__module__ or "").startswith("taeda._C"):
        return getattr(taeda.ops.aten, op.__name__, None)
    return None


def overloads_of(op):
    """The overload itself, those of a packet or of a function of taeda; none for others."""
    if hasattr(op, "_schema"):
        return [op]
    packet = _packet_of(op)
    return [] if packet is None else [getattr(packet, name) for name in packet.overloads()]


def _schemas(op):
    return [overload._schema for overload in overloads_of(op)]


def _signature(schema, is_function):
    """The schema as a signature; functions call `self` input."""
    parameters = []
    for argument in schema.arguments:
        kind = (
            inspect.Parameter.KEYWORD_ONLY
            if argument.kwarg_only
            else inspect.Parameter.POSITIONAL_OR_KEYWORD
        )
        name = "input" if argument.name == "self" and is_function else argument.name
        default = (
            argument.default_value if argument.has_default_value() else inspect.Parameter.empty
        )
        parameters.append(
            inspect.Parameter(name, kind, default=default, annotation=str(argument.type))
        )
    return inspect.Signature(parameters)


def get_signature_for_torch_op(op, return_schemas=False):
    """The signatures of an operator's overloads; None for what is no operator.

    With `return_schemas` a pair of signatures and schemas.
    """
    schemas = _schemas(op)
    if not schemas:
        return (None, None) if return_schemas else None
    signatures = [_signature(s, not hasattr(op, "_schema")) for s in schemas]
    return (signatures, schemas) if return_schemas else signatures


def type_matches(signature_type, argument_type):
    """Whether an argument of a type may stand for a parameter of another."""
    if signature_type is argument_type:
        return True
    if isinstance(signature_type, str):
        return _schema_type_matches(signature_type, argument_type)
    if not isinstance(signature_type, type) or not isinstance(argument_type, type):
        return False
    if signature_type is float and argument_type is int:
        return True
    return issubclass(argument_type, signature_type)


def _schema_type_matches(text, argument_type):
    if text.endswith("?"):
        return argument_type is type(None) or _schema_type_matches(text[:-1], argument_type)
    if text.endswith("]"):
        element = text[: text.rindex("[")]
        if argument_type in (list, tuple) or getattr(argument_type, "__origin__", None) in (
            list,
            tuple,
        ):
            return True
        # int[2] takes one int too.
        return not text.endswith("[]") and _schema_type_matches(element, argument_type)
    known = _TYPES.get(text)
    if known is None or not isinstance(argument_type, type):
        return known is None
    if argument_type is bool and text in ("int", "SymInt", "float"):
        return False
    return issubclass(argument_type, known)


def create_type_hint(x):
    """For a list or tuple of types, the type of such a list or tuple."""
    if isinstance(x, (list, tuple)):
        container = list if isinstance(x, list) else tuple
        if not x:
            return container[object] if container is list else tuple[object, ...]
        first = x[0]
        same = all(item is first for item in x)
        element = first if same else object
        return list[element] if container is list else tuple[element, ...]
    return x


def _binds(signature, args, kwargs):
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def _fits_types(signature, arg_types, kwarg_types):
    bound = signature.bind(*arg_types, **kwarg_types)
    return all(
        type_matches(signature.parameters[name].annotation, kind)
        for name, kind in bound.arguments.items()
    )


def _normalized(signature, args, kwargs, only_kwargs):
    """The arguments with defaults: by keyword, or by position where that is how they came."""
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            return None
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    new_args, new_kwargs = [], {}
    for i, (name, value) in enumerate(bound.arguments.items()):
        if only_kwargs or i >= len(args):
            new_kwargs[name] = value
        else:
            new_args.append(value)
    return ArgsKwargsPair(tuple(new_args), new_kwargs)


def normalize_function(
    target,
    args,
    kwargs=None,
    arg_types=None,
    kwarg_types=None,
    normalize_to_only_use_kwargs=False,
):
    """The arguments of a call, matched to the signature and with defaults; None if none fits.

    Where several overloads fit, `arg_types` and `kwarg_types` choose.
    """
    kwargs = kwargs or {}
    signatures = get_signature_for_torch_op(target)
    if signatures is None:
        if not (getattr(target, "__module__", None) or "").startswith("taeda."):
            return None
        try:
            signature = inspect.signature(inspect.unwrap(target))
        except (TypeError, ValueError):
            return None
        return _normalized(signature, args, kwargs, normalize_to_only_use_kwargs)
    fitting = [s for s in signatures if _binds(s, args, kwargs)]
    if len(fitting) > 1 and (arg_types is not None or kwarg_types is not None):
        fitting = [s for s in fitting if _fits_types(s, arg_types or (), kwarg_types or {})]
    elif len(fitting) > 1:
        listing = "\n".join(f"{target.__name__}{s}" for s in fitting)
        raise RuntimeError(
            "Tried to normalize arguments to torch function but the schema match was ambiguous! "
            "Please provide argument types to the normalize_arguments() call. Available schemas:\n"
            f"{listing}"
        )
    if not fitting:
        return None
    return _normalized(fitting[0], args, kwargs, normalize_to_only_use_kwargs)


def normalize_module(root, target, args, kwargs=None, normalize_to_only_use_kwargs=False):
    """The arguments of a call of a module of taeda.nn; None for other modules."""
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(
            f"Tried to normalize arguments for module target {target} but root did not have that "
            "target!"
        ) from error
    if not own_module(type(module)).startswith("taeda.nn"):
        return None
    signature = inspect.signature(module.forward)
    return _normalized(signature, args, kwargs or {}, normalize_to_only_use_kwargs)


def check_for_mutable_operation(target, args, kwargs):
    """Raises RuntimeError where the call would write to an argument."""
    signatures, schemas = get_signature_for_torch_op(target, return_schemas=True)
    for signature, schema in zip(signatures or (), schemas or ()):
        if schema.is_mutable and _binds(signature, args, kwargs):
            raise RuntimeError(
                f"Tried to trace mutable operation {schema}. FX only supports functional code, so "
                "operations that mutate operands in-place (e.g. via `out` arguments) are not "
                "supported"
            )
