"""Lowerings of operators that are no pointwise bodies: their elements, for the compiler.

`ops/<family>/lowering.cpp` defines one function per record with `lowering = "<kind>"`. It takes
the record's arguments and its results, which exist already, and says what their elements are.
"""

import decompositions
from cpp_ops import cpp_return, names, parameters

# What an element of the result is: one of another tensor, a function of some elements, or of whole
# rows, or of all elements up to it, or the sum of elements that name its place.
KINDS = ("view", "function", "reduction", "scan", "scatter")
# The operator stays whole: it has no decomposition, or one that is slower or has other bits.
WHOLE = "called"
# A core operator that the compiler takes as what its own function makes of it.
OPENED = "parts"


def has_lowering(r):
    kind = r.data.get("lowering")
    if kind is not None and kind not in (*KINDS, WHOLE, OPENED):
        words = ", ".join((*KINDS, WHOLE, OPENED))
        raise ValueError(f"{r.key}: lowering is one of {words}, not {kind!r}")
    return kind in KINDS


def is_whole(r):
    return r.data.get("lowering") == WHOLE


def is_listed(r):
    return is_whole(r) or "library" in r.data


def is_opened(r):
    return r.data.get("lowering") == OPENED


def reason_for_call(r):
    """Why an operator that is no library's is called: it has no lowering and stays whole."""
    if "library" in r.data or has_lowering(r) or is_opened(r) or r.kind in ("pointwise", "view"):
        return None
    is_apart = r.kind == "composite" or decompositions.cell(r) in ("formula", "explicit")
    if is_apart and not is_whole(r):
        return None
    if r.schema.is_inplace:
        return "in place: functionalization replaces it"
    return r.data.get("no_lowering") or r.data.get("no_decomposition", "")


def cell(r):
    """How the compiler takes the operator, in a word; "fallback: " and why; '' for a hole."""
    if has_lowering(r):
        return r.data["lowering"]
    if "library" in r.data:
        return "library"
    reason = reason_for_call(r)
    if reason is not None:
        return f"fallback: {reason}" if reason else ""
    if r.kind == "pointwise":
        return "body"
    return "strides" if r.kind == "view" else "parts"


CELLS = ("body", *KINDS, "strides", "parts", "library")


def is_list(s):
    return len(s.returns) == 1 and s.returns[0].type.is_list


def results(s):
    if is_list(s):
        return ["const std::vector<Tensor>& out"]
    if len(s.returns) == 1:
        return ["const Tensor& out"]
    return [f"const Tensor& out{i}" for i in range(len(s.returns))]


def declarations(records):
    """The functions that the family's lowering.cpp must define."""
    lines = []
    for r in filter(has_lowering, records):
        given = ", ".join([p for p in [parameters(r.schema)] if p] + results(r.schema))
        lines.append(f"void {r.schema.ident}({given});")
    return (
        "namespace taeda::lowering {\n" + "\n".join(lines) + "\n}  // namespace taeda::lowering\n"
    )


def wrapper(r):
    s = r.schema
    given = [names(s)] if s.arguments else []
    if is_list(s):
        outs, result = ["all"], "all"
    else:
        outs = [f"all[{i}]" for i in range(len(s.returns))]
        result = outs[0] if len(outs) == 1 else "{" + ", ".join(outs) + "}"
    head = ", ".join(["KeySet", *[p for p in [parameters(s)] if p]])
    return (
        f"{cpp_return(s)} {s.ident}({head}) {{\n"
        "  const std::vector<Tensor>& all = Lowering::current().results();\n"
        f"  lowering::{s.ident}({', '.join(given + outs)});\n  return {result};\n}}\n"
    )


def table(records):
    """Every function with the signature of its operator, and the list of them."""
    found = [r for r in records if has_lowering(r)]
    text = "namespace taeda {\n\nnamespace lowering_forms {\nnamespace {\n\n" + "\n".join(
        map(wrapper, found)
    )
    rows = "".join(
        f"  visit(ops::{r.schema.ident}, reinterpret_cast<void*>(&lowering_forms::{r.schema.ident}));\n"
        for r in found
    )
    whole = "".join(f"  visit(ops::{r.schema.ident});\n" for r in records if is_whole(r))
    library = "".join(f"  visit(ops::{r.schema.ident});\n" for r in records if "library" in r.data)
    opened = "".join(
        f"  visit(OpenedOperator(ops::{r.schema.ident}, &impl::{r.schema.ident}));\n"
        for r in records
        if is_opened(r)
    )
    return text + (
        "\n}  // namespace\n}  // namespace lowering_forms\n\nvoid for_each_lowering("
        f"FunctionRef<void(dispatch::Operator&, void*)> visit) {{\n{rows}}}\n\n"
        "void for_each_whole_operator(FunctionRef<void(dispatch::Operator&)> visit) "
        f"{{\n{whole}}}\n\n"
        "void for_each_library_operator(FunctionRef<void(dispatch::Operator&)> visit) "
        f"{{\n{library}}}\n\n"
        "void for_each_opened_operator(FunctionRef<void(const OpenedOperator&)> visit) "
        f"{{\n{opened}}}\n\n"
        "}  // namespace taeda\n"
    )
