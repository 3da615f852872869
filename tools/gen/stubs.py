"""Type stubs and documentation pages of the operators."""

import re
from pathlib import Path

from python_bindings import groups, python_parameters

PY = {
    "Tensor": "Tensor",
    "Scalar": "Number",
    "int": "_int",
    "SymInt": "_int",
    "float": "_float",
    "bool": "_bool",
    "str": "str",
    "ScalarType": "_dtype",
    "Device": "DeviceLike",
    "Layout": "_layout",
    "MemoryFormat": "_memory_format",
    "Generator": "Generator",
}
KEYWORDS = {"from": "from_"}
# Types and functions that are written by hand; it ends with the class Tensor, which goes on.
CORE_TYPES = Path(__file__).with_name("core_types.pyi")


def annotation(p):
    base = PY[p.base]
    if p.is_list:
        base = f"Sequence[{base}]" + (
            f" | {PY[p.base]}" if isinstance(p.size, int) and p.size > 0 else ""
        )
    if p.number:
        base += " | Number"
    return base + (" | None" if p.allow_none else "")


def returns(s):
    def one(r):
        base = PY[r.type.base]
        return f"tuple[{base}, ...]" if r.type.is_list else base

    if not s.returns:
        return "None"
    if len(s.returns) == 1:
        return one(s.returns[0])
    return "tuple[" + ", ".join(one(r) for r in s.returns) + "]"


def signature(r, s, as_method):
    params = python_parameters(r, s, as_method)
    parts, starred = [], False
    for p in params:
        if p.size == "kVarargs":
            parts.append(f"*{p.name}: _int | Sequence[_int]")
            starred = True
            continue
        if p.kw and not starred:
            parts.append("*")
            starred = True
        name = p.name if as_method or p.name != "self" else "input"
        if as_method and p.name == "self":
            parts.append("self")
            continue
        parts.append(
            f"{KEYWORDS.get(name, name)}: {annotation(p)}"
            + (" = ..." if p.default is not None else "")
        )
    return f"({', '.join(parts)}) -> {returns(s)}"


def block(name, rows, as_method, indent):
    lines = []
    for r, s in rows:
        if len(rows) > 1:
            lines.append(f"{indent}@overload")
        lines.append(f"{indent}def {name}{signature(r, s, as_method)}: ...")
    return lines


def pyi(records):
    methods, functions = groups(records)
    _, _, core = CORE_TYPES.read_text().partition("\n\n")
    own_functions = set(re.findall(r"^def (\w+)", core, re.M))
    own_methods = set(re.findall(r"^    def (\w+)", core[core.index("class Tensor:") :], re.M))
    lines = [
        '"""Generated from the operator records and tools/gen/core_types.pyi: Taeda\'s core module."""',
        "",
        *core.splitlines(),
    ]
    for name in sorted(set(methods) - own_methods):
        lines += block(name, methods[name], True, "    ")
    for name in sorted(set(functions.get("", {})) - own_functions):
        lines += block(name, functions[""][name], False, "")
    for module in ("nn", "special", "linalg"):
        if functions.get(module):
            lines += ["", f"class _{module}:"]
            for name in sorted(functions[module]):
                for line in block(name, functions[module][name], False, "    "):
                    lines += [line] if "@overload" in line else ["    @staticmethod", line]
    return "\n".join(lines) + "\n"


def page(family, records):
    lines = [f"# Operators: {family}", ""]
    for r in records:
        lines += [
            f"## {r.key}",
            "",
            "```",
            *[s.text for s in r.schemas],
            "```",
            "",
            r.data.get("doc", "").strip(),
            "",
        ]
        if "refuses_grad" in r.data:
            lines.append("- no gradient: backward raises an error")
        for argument, formula in r.data.get("grad", {}).items():
            lines.append(f"- gradient of `{argument}`: `{' '.join(formula.split())}`")
        if "no_grad" in r.data:
            lines.append(f"- no gradient: {r.data['no_grad']}")
        if "autocast" in r.data:
            lines.append(f"- autocast: {r.data['autocast']}")
        lines.append("")
    return "\n".join(lines)
