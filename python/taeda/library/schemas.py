"""Schemas of operators from the annotations of Python functions."""

import collections.abc
import inspect
import types
import typing

import taeda

_SCALAR = typing.Union[int, float, bool]  # noqa: UP007 (the form that annotations compare to)


def infer_schema(prototype_function, /, *, mutates_args, op_name=None, tags=()):
    """The schema of an operator with the signature of `prototype_function`.

    Every parameter needs an annotation; `mutates_args` names those that the function writes to, or
    is `"unknown"` if any tensor may be written.
    """
    reader = _Reader(prototype_function, mutates_args)
    return f"{op_name or ''}({reader.arguments()}) -> {reader.returns()}"


class _Reader:
    def __init__(self, function, mutates_args):
        if isinstance(mutates_args, str) and mutates_args != "unknown":
            raise ValueError(
                "mutates_args must either be a sequence of the names of the arguments that are "
                "mutated or the string 'unknown'. "
            )
        self._signature = inspect.signature(function)
        self._mutates = mutates_args
        try:
            self._hints = typing.get_type_hints(function)
        except NameError as error:
            self._fail(f"Unsupported type annotation: {error}. It is not a type.")

    def _fail(self, what):
        raise ValueError(f"infer_schema(func): {what} Got func with signature {self._signature})")

    def arguments(self):
        parameters = self._signature.parameters
        texts, has_star = [], False
        for index, (name, parameter) in enumerate(parameters.items()):
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                self._fail("We do not support positional-only args, varargs, or varkwargs.")
            if parameter.kind is parameter.KEYWORD_ONLY and not has_star:
                has_star = True
                texts.append("*")
            texts.append(self._argument(index, name, parameter))
        if self._mutates != "unknown":
            missing = set(self._mutates) - set(parameters)
            if missing:
                self._fail(
                    f"{missing} in mutates_args were not found in the custom op's signature. "
                    "mutates_args should contain the names of all args that the custom op mutates, "
                    "or just the string 'unknown' if you don't know."
                )
        return ", ".join(texts)

    def _argument(self, index, name, parameter):
        if parameter.annotation is inspect.Parameter.empty:
            self._fail(f"Parameter {name} must have a type annotation.")
        annotation = self._hints.get(name, parameter.annotation)
        text = schema_type(annotation)
        if text is None:
            advice = ""
            if typing.get_origin(annotation) is tuple:
                items = dict.fromkeys(
                    getattr(a, "__name__", a) for a in typing.get_args(annotation)
                )
                advice = (
                    "We do not support Tuple inputs in schema. As a workaround, please try to use "
                    f"List instead. For example, list[{', '.join(map(str, items))}]. "
                )
            self._fail(
                f"Parameter {name} has unsupported type {annotation}. {advice}"
                f"The valid types are: {_VALID_TYPES}."
            )
        is_tensor = text.startswith("Tensor")
        if self._mutates == "unknown":
            is_written = is_tensor
        else:
            is_written = name in self._mutates
        if is_written:
            if not is_tensor:
                self._fail(
                    f"Parameter {name} is in mutable_args but only Tensors or collections of "
                    "Tensors can be mutated"
                )
            text = f"Tensor(a{index}!){text[len('Tensor') :]}"
        if parameter.default is inspect.Parameter.empty:
            return f"{text} {name}"
        return f"{text} {name}={self._default(name, parameter.default)}"

    def _default(self, name, value):
        if value is None or isinstance(value, (bool, int, float)):
            return str(value)
        if isinstance(value, str):
            return f'"{value}"'
        if isinstance(value, taeda.device):
            return f'"{value}"'
        if isinstance(value, taeda.dtype):
            return str(value).split(".")[-1]
        self._fail(
            f"Parameter {name} has an unsupported default value type {type(value)}. Supported are "
            "None, numbers, strings, devices and dtypes."
        )

    def returns(self):
        if self._signature.return_annotation is inspect.Signature.empty:
            self._fail("No return type annotation was provided. Please add one.")
        annotation = self._hints.get("return", self._signature.return_annotation)
        if annotation is None or annotation is type(None):
            return "()"
        if typing.get_origin(annotation) is tuple:
            items = [self._return(item) for item in typing.get_args(annotation)]
            return f"({', '.join(items)})"
        return self._return(annotation)

    def _return(self, annotation):
        text = schema_type(annotation)
        if text in _RETURN_TYPES:
            return text
        self._fail(
            f"Return has unsupported type {annotation}. The valid types are: Tensor, "
            "List[Tensor], int, float, bool, Union[int, float, bool], and tuples of these."
        )


_RETURN_TYPES = {"Tensor", "Tensor[]", "SymInt", "float", "bool", "Scalar"}
_LISTED_TYPES = {"Tensor", "Tensor?", "SymInt", "float", "bool", "Scalar"}
_VALID_TYPES = (
    "Tensor, int, float, bool, str, Union[int, float, bool], torch.dtype, torch.device; "
    "Sequence[...] and List[...] of Tensor, Optional[Tensor], int, float, bool, Union[int, "
    "float, bool]; "
    "Optional[...] of all"
)


def _plain_types():
    return {
        taeda.Tensor: "Tensor",
        int: "SymInt",
        float: "float",
        bool: "bool",
        str: "str",
        taeda.dtype: "ScalarType",
        taeda.device: "Device",
    }


def schema_type(annotation):
    """The schema's type for an annotation, None if there is none."""
    plain = _plain_types()
    if isinstance(annotation, type) and annotation in plain:
        return plain[annotation]
    if annotation == _SCALAR:
        return "Scalar"
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return _optional_type(args)
    if origin in (list, collections.abc.Sequence) and len(args) == 1:
        item = schema_type(args[0])
        return f"{item}[]" if item in _LISTED_TYPES else None
    return None


def _optional_type(args):
    others = [a for a in args if a is not type(None)]
    if set(others) == {int, float, bool}:
        inner = "Scalar"
    elif len(others) == 1:
        inner = schema_type(others[0])
    else:
        return None
    if inner is None or len(others) == len(args):
        return inner
    return None if inner.endswith("?") else f"{inner}?"
