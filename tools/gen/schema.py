"""Operator schemas in PyTorch's syntax, and what each type is called in C++ and in Python."""

import re
from dataclasses import dataclass, field, replace

_ARGUMENT = re.compile(
    r"^(?P<base>\w+)(?:\((?P<alias>\w(?: -> \*)?)(?P<written>!)?\))?(?P<inner>\?(?=\[))?"
    r"(?P<list>\[(?P<size>\d*)\])?(?P<optional>\?)?"
    r"(?:\s+(?P<name>\w+))?(?:\s*=\s*(?P<default>.+))?$"
)


@dataclass(frozen=True)
class Type:
    base: str
    is_list: bool = False
    list_size: int = -1
    is_optional: bool = False
    has_optional_items: bool = False

    @property
    def text(self):
        size = "" if self.list_size < 0 else str(self.list_size)
        items = "?" if self.has_optional_items else ""
        tail = "?" if self.is_optional else ""
        return self.base + items + (f"[{size}]" if self.is_list else "") + tail

    @property
    def is_tensor(self):
        return self.base == "Tensor"


@dataclass(frozen=True)
class Argument:
    name: str
    type: Type
    default: str | None = None
    is_kwarg_only: bool = False
    alias: str = ""
    is_written: bool = False
    is_cpp_required: bool = False  # C++ gives no default, where it would make overloads ambiguous

    @property
    def text(self):
        mark = f"({self.alias}{'!' if self.is_written else ''})" if self.alias else ""
        base = self.type.text.replace(self.type.base, self.type.base + mark, 1)
        return (
            base
            + (f" {self.name}" if self.name else "")
            + (f"={self.default}" if self.default is not None else "")
        )


@dataclass(frozen=True)
class Schema:
    name: str
    overload: str
    arguments: tuple
    returns: tuple = field(default=())

    @property
    def text(self):
        parts, seen = [], False
        for a in self.arguments:
            if a.is_kwarg_only and not seen:
                parts.append("*")
                seen = True
            parts.append(a.text)
        dot = f".{self.overload}" if self.overload else ""
        results = ", ".join(r.text for r in self.returns)
        if len(self.returns) != 1:
            results = f"({results})"
        return f"{self.name}{dot}({', '.join(parts)}) -> {results}"

    @property
    def full_name(self):
        return f"{self.name}.{self.overload}" if self.overload else self.name

    @property
    def ident(self):
        """The C++ identifier of this overload."""
        return f"{self.name}_{self.overload}" if self.overload else self.name

    @property
    def is_inplace(self):
        return (
            self.name.endswith("_")
            and not self.name.endswith("__")
            and self.arguments[0].is_written
        )

    @property
    def outs(self):
        return [a for a in self.arguments if a.is_written and a.is_kwarg_only]

    @property
    def tensors(self):
        return [a for a in self.arguments if a.type.is_tensor]


def _split(text):
    """Splits at commas outside brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += c in "[(" or -(c in "])")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    tail = text[start:].strip()
    return parts + ([tail] if tail else [])


def _argument(text, is_kwarg_only=False):
    m = _ARGUMENT.match(text.strip())
    if not m:
        raise ValueError(f"cannot read the argument {text!r}")
    if m["base"] not in TYPES:
        raise ValueError(f"unknown type {m['base']!r} in {text!r}; known: {', '.join(TYPES)}")
    size = int(m["size"]) if m["size"] else -1
    kind = Type(m["base"], bool(m["list"]), size, bool(m["optional"]), bool(m["inner"]))
    return Argument(
        m["name"] or "", kind, m["default"], is_kwarg_only, m["alias"] or "", bool(m["written"])
    )


def parse(text, cpp_required=()):
    m = re.match(r"^(\w+)(?:\.(\w+))?\((.*)\)\s*->\s*(.+)$", text.strip(), re.S)
    if not m:
        raise ValueError(f"cannot read the schema {text!r}")
    arguments, kwarg_only = [], False
    for part in _split(m[3]):
        if part == "*":
            kwarg_only = True
        else:
            arguments.append(_argument(part, kwarg_only))
    arguments = [
        replace(a, is_cpp_required=True) if a.name in cpp_required else a for a in arguments
    ]
    results = m[4].strip()
    results = _split(results[1:-1]) if results.startswith("(") else [results]
    return Schema(m[1], m[2] or "", tuple(arguments), tuple(_argument(r) for r in results))


def inplace_of(s, overload=None):
    first = replace(s.arguments[0], alias="a", is_written=True)
    result = Argument("", Type("Tensor"), alias="a", is_written=True)
    rest = tuple(a for a in s.arguments[1:])
    return Schema(
        s.name + "_", s.overload if overload is None else overload, (first, *rest), (result,)
    )


OPTIONS = ("dtype", "layout", "device", "pin_memory")


def out_of(s, overload=None, is_factory=False, names=None):
    """The out variant; a factory's result has its type and place already."""
    if names is None:
        is_one = len(s.returns) == 1
        names = ["out"] if is_one else [r.name or f"out{i}" for i, r in enumerate(s.returns)]
    outs = tuple(
        Argument(n, Type("Tensor"), None, True, "abcdef"[i], True) for i, n in enumerate(names)
    )
    if overload is None:
        overload = "out" if s.overload in ("", "Tensor") else s.overload + "_out"
    kept = tuple(a for a in s.arguments if not (is_factory and a.name in OPTIONS))
    results = tuple(
        Argument(r.name, Type("Tensor"), alias=o.alias, is_written=True)
        for r, o in zip(s.returns, outs)
    )
    return Schema(s.name, overload, (*kept, *outs), results)


# ---- C++ ----
_PLAIN = {
    "int": "int64_t",
    "SymInt": "SymInt",
    "float": "double",
    "bool": "bool",
    "str": "std::string_view",
    "ScalarType": "DType",
    "Layout": "Layout",
    "Device": "Device",
    "MemoryFormat": "MemoryFormat",
}
TYPES = ("Tensor", "Scalar", "Generator", *_PLAIN)
_LISTS = {"int": "IntList", "SymInt": "SymIntList", "float": "Span<double>", "bool": "Span<bool>"}


def cpp_type(a):
    t = a.type
    if t.base == "Tensor":
        if t.is_list:
            return "TensorList"
        return "Tensor&" if a.is_written else "const Tensor&"
    if t.base == "Generator":
        return "const Generator&"
    if t.base == "Scalar":
        if t.is_list:
            return "Span<Scalar>"
        return "std::optional<Scalar>" if t.is_optional else "const Scalar&"
    plain = _LISTS[t.base] if t.is_list else _PLAIN[t.base]
    return f"std::optional<{plain}>" if t.is_optional else plain


def cpp_return(s):
    def one(r):
        if r.type.base == "Tensor":
            if r.type.is_list:
                return "std::vector<Tensor>"
            return "Tensor"
        return "Scalar" if r.type.base == "Scalar" else _PLAIN[r.type.base]

    if len(s.returns) == 1:
        r = s.returns[0]
        return "Tensor&" if r.is_written else one(r)
    if not s.returns:
        return "void"
    return "std::tuple<" + ", ".join(one(r) for r in s.returns) + ">"


_REDUCTION = {"Mean": "1", "Sum": "2", "None": "0"}


def cpp_default(a):
    d = a.default
    if d is None:
        return None
    t = a.type
    if d == "None":
        if t.base in ("Tensor", "Generator"):
            return "{}"
        return "std::nullopt"
    if t.is_list:
        if d.startswith("["):
            return "{" + d[1:-1] + "}"
        return "{" + ", ".join([d] * max(t.list_size, 1)) + "}"
    if t.base == "bool":
        return d.lower()
    if t.base == "int" and d in _REDUCTION:
        return _REDUCTION[d]
    if t.base == "str":
        return '"' + d.strip("'\"") + '"'
    if t.base == "ScalarType":
        return {"long": "DType::Int64"}[d]
    if t.base == "MemoryFormat":
        return {
            "contiguous_format": "MemoryFormat::Contiguous",
            "preserve_format": "MemoryFormat::Preserve",
        }[d]
    return d
