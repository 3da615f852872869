"""Python code of a graph: how nodes become statements."""

import enum
import json
import keyword
import math
import operator
import types
import typing
from dataclasses import dataclass

import taeda
from taeda.fx import _pytree as fx_pytree
from taeda.fx._naming import qualified_name, type_repr
from taeda.fx.node import Node
from taeda.utils import _pytree as pytree


@dataclass
class PythonCode:
    """A function as text, the globals it needs, and the way from its lines back to nodes.

    Lines are counted from the one with `def`, which is 0.
    """

    src: str
    globals: dict
    _lineno_map: dict | None = None
    _prologue_start: int = 0


# Names that generated code may use: how to import each, and what it is.
KNOWN_GLOBALS = {
    "inf": ("from math import inf", math.inf),
    "nan": ("from math import nan", math.nan),
    "NoneType": ("NoneType = type(None)", type(None)),
    "torch": ("import taeda as torch", taeda),
    "taeda": ("import taeda", taeda),
    "device": ("from taeda import device", taeda.device),
    "fx_pytree": ("import taeda.fx._pytree as fx_pytree", fx_pytree),
    "pytree": ("import taeda.utils._pytree as pytree", pytree),
}

_BINARY = [
    "add",
    "+",
    "sub",
    "-",
    "mul",
    "*",
    "floordiv",
    "//",
    "truediv",
    "/",
    "mod",
    "%",
    "pow",
    "**",
    "lshift",
    "<<",
    "rshift",
    ">>",
    "and_",
    "&",
    "or_",
    "|",
    "xor",
    "^",
    "matmul",
    "@",
    "eq",
    "==",
    "ne",
    "!=",
    "lt",
    "<",
    "gt",
    ">",
    "le",
    "<=",
    "ge",
    ">=",
]
_INPLACE = [
    "iadd",
    "+=",
    "iand",
    "&=",
    "ifloordiv",
    "//=",
    "ilshift",
    "<<=",
    "imod",
    "%=",
    "imul",
    "*=",
    "imatmul",
    "@=",
    "ior",
    "|=",
    "ipow",
    "**=",
    "irshift",
    ">>=",
    "isub",
    "-=",
    "itruediv",
    "/=",
    "ixor",
    "^=",
]

# Functions of the module operator that are written with signs.
_SIGNS = {
    **{
        getattr(operator, name): f"{{}} {sign} {{}}"
        for name, sign in zip(_BINARY[::2], _BINARY[1::2])
    },
    operator.getitem: "{}[{}]",
    operator.pos: "+{}",
    operator.neg: "-{}",
    operator.invert: "~{}",
}
_INPLACE_SIGNS = {
    **{
        getattr(operator, name): f"{{}} {sign} {{}}"
        for name, sign in zip(_INPLACE[::2], _INPLACE[1::2])
    },
    operator.setitem: "{}[{}] = {}",
}

_SHORT_DTYPES = {
    "bfloat16": "bf16",
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "float8_e4m3fn": "f8e4m3fn",
    "float8_e5m2": "f8e5m2",
    "complex64": "c64",
    "complex128": "c128",
    "bool": "b8",
}


def short_dtype(dtype):
    """f32, i64, b8: the dtype in annotations."""
    name = str(dtype).rpartition(".")[2]
    return _SHORT_DTYPES.get(name) or name.replace("uint", "u").replace("int", "i")


DTYPE_ABBREVIATIONS = {
    dtype: short_dtype(dtype) for dtype in vars(taeda).values() if isinstance(dtype, taeda.dtype)
}


def described_value(node):
    """The value or description that a pass left in the node's meta, or None."""
    for key in ("val", "tensor_meta", "example_value"):
        value = node.meta.get(key)
        if value is not None:
            return value
    return None


def format_target(base, target):
    """`base.a.b`, with getattr where a part is no identifier."""
    for part in target.split("."):
        if part.isidentifier() and not keyword.iskeyword(part):
            base = f"{base}.{part}"
        else:
            base = f"getattr({base}, {json.dumps(part, ensure_ascii=False)})"
    return base


def last_uses(nodes):
    """For each node the nodes that nobody needs after it, the last argument first."""
    seen, out = set(), {}
    for user in reversed(nodes):
        for node in user._input_nodes:
            if node not in seen:
                seen.add(node)
                out.setdefault(user, []).append(node)
    return out


class Globals:
    """What generated code refers to outside itself."""

    def __init__(self, namespace):
        self._namespace = namespace
        self.table = {}
        for name, (_, value) in KNOWN_GLOBALS.items():
            namespace.reserve(name, value)
            self.table[name] = value

    def add(self, hint, value):
        """The text that means `value`."""
        if hint.startswith("taeda.") and self._resolves(hint, value):
            return hint
        name = self._namespace.create_name(hint, value)
        self.table[name] = value
        return name

    @staticmethod
    def _resolves(path, value):
        found = taeda
        for part in path.split(".")[1:]:
            found = getattr(found, part, None)
            if found is None:
                return False
        return found == value

    def type_text(self, annotation):
        """An annotation as code."""
        if annotation == ():
            return "()"
        if isinstance(annotation, types.UnionType):
            return "|".join(self.type_text(arg) for arg in typing.get_args(annotation))
        origin = getattr(annotation, "__origin__", None)
        if origin is None:
            return self.add(type_repr(annotation), annotation)
        alias = getattr(annotation, "_name", None)
        if alias and alias != "Optional" and annotation.__module__ == "typing":
            # typing.List[int]: the alias, not the class behind it.
            origin = getattr(typing, alias, origin)
        name = self.add(type_repr(origin), origin)
        args = typing.get_args(annotation)
        return f"{name}[{','.join(self.type_text(arg) for arg in args)}]" if args else name


class Values:
    """Arguments as code."""

    def __init__(self, names, known):
        self._names = names
        self._known = known

    def text(self, value):
        if isinstance(value, Node):
            return self._names.get(value, value.name)
        if isinstance(value, (int, float, str, type(None))) and not isinstance(value, enum.Enum):
            return repr(value)
        return self._other(value)

    def _other(self, value):
        text = self.text
        if isinstance(value, enum.Enum):
            cls = type(value)
            return f"{self._known.add(cls.__name__, cls)}.{value.name}"
        if isinstance(value, tuple):
            if hasattr(value, "_fields"):
                cls = type(value)
                inside = ", ".join(map(text, value))
                return f"{self._known.add(qualified_name(cls), cls)}({inside})"
            return f"({text(value[0])},)" if len(value) == 1 else f"({', '.join(map(text, value))})"
        if isinstance(value, list):
            return f"[{', '.join(map(text, value))}]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{k!r}: {text(v)}" for k, v in value.items()) + "}"
        if isinstance(value, type):
            return self._known.add(type_repr(value), value)
        if isinstance(value, types.FunctionType):
            return self._known.add(value.__name__, value)
        if isinstance(value, slice):
            return f"slice({text(value.start)}, {text(value.stop)}, {text(value.step)})"
        if isinstance(value, taeda.Tensor):
            dtype = str(value.dtype).rpartition(".")[2]
            return f"taeda.Tensor(size={list(value.shape)}, dtype={dtype})"
        if isinstance(value, (taeda.dtype, taeda.layout, taeda.memory_format)):
            return repr(value).replace("torch.", "taeda.", 1)
        if hasattr(value, "_schema"):
            return self._known.add(qualified_name(value), value)
        return repr(value)

    def call(self, args, kwargs):
        """Arguments between the parentheses of a call."""
        parts = [self.text(a) for a in args]
        parts += [
            # uniform_ has a parameter `from`.
            f"**{{'{key}': {self.text(value)}}}"
            if keyword.iskeyword(key)
            else f"{key} = {self.text(value)}"
            for key, value in kwargs.items()
        ]
        return ", ".join(parts)


class Statements:
    """The statement of each kind of node; an output and placeholders are the CodeGen's."""

    def __init__(self, names, known, values, root):
        self.names, self.known, self.values, self.root = names, known, values, root

    def of(self, node, annotation):
        return getattr(self, node.op)(node, f"{self.names[node]}{annotation}")

    def get_attr(self, node, result):
        return f"{result} = {format_target(self.root, node.target)}"

    def call_module(self, node, result):
        arguments = self.values.call(node.args, node.kwargs)
        return f"{result} = {format_target(self.root, node.target)}({arguments})"

    def call_method(self, node, result):
        method = format_target(self.values.text(node.args[0]), node.target)
        return f"{result} = {method}({self.values.call(node.args[1:], node.kwargs)})"

    def call_function(self, node, result):
        target, args = node.target, node.args
        text = self.values.text
        if getattr(target, "__module__", None) == "_operator" and not node.kwargs:
            if target in _SIGNS:
                operands = [text(arg) for arg in args]
                # A power binds closer than the sign of its base.
                if target is operator.pow and operands[0].startswith("-"):
                    operands[0] = f"({operands[0]})"
                return f"{result} = {_SIGNS[target].format(*operands)}"
            if target in _INPLACE_SIGNS:
                statement = _INPLACE_SIGNS[target].format(*map(text, args))
                return f"{statement};  {result} = {text(args[0])}"
        if target is getattr and len(args) == 2 and str(args[1]).isidentifier():
            return f"{result} = {format_target(text(args[0]), args[1])}"
        function = self.known.add(qualified_name(target), target)
        return f"{result} = {function}({self.values.call(args, node.kwargs)})"
