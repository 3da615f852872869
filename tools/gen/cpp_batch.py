"""Batching rules: which rule each overload runs under vmap, and what its arguments mean to it."""

from cpp_ops import cpp_return, cpp_type, quoted, signature

GENERIC = ("pointwise", "dims", "fold", "random", "forbidden", "unreadable")
RULES = (*GENERIC, "decompose", "rule")
DIMS = {"dim", "dims", "dim0", "dim1", "dim2", "dimension", "start_dim", "end_dim"}


def rule_of(r):
    """The record's rule; None where the operator decomposes by itself or runs once per example."""
    if r.kind == "composite" or "no_batch" in r.data:
        return None
    default = {"pointwise": "pointwise", "explicit": "decompose"}.get(r.kind)
    return r.data.get("batch", default)


def role(r, a):
    given = r.data.get("batch_roles", {}).get(a.name)
    if given:
        return given
    t = a.type
    if t.is_tensor:
        return "Tensors" if t.is_list else "Tensor"
    if t.base == "int" and a.name in DIMS:
        return "Dims" if t.is_list else "Dim"
    if t.base == "SymInt" and t.is_list and a.name in ("size", "input_sizes"):
        return "Size"
    return "Other"


def batched_type(a):
    if not a.type.is_tensor:
        return cpp_type(a)
    return "const BatchedList&" if a.type.is_list else "const Batched&"


def batched_return(s):
    def one(x):
        return "BatchedList" if x.type.is_list else "Batched"

    if len(s.returns) == 1:
        return one(s.returns[0])
    return "std::tuple<" + ", ".join(one(x) for x in s.returns) + ">"


def batched_signature(s):
    return f"{batched_return(s)}({', '.join(batched_type(a) for a in s.arguments)})"


def declarations(records):
    """What a family's sources must define for records with a rule of their own."""
    lines = [
        f"{batched_return(r.schema)} {r.ident}({', '.join(f'{batched_type(a)} {a.name}' for a in r.schema.arguments)});"
        for r in records
        if rule_of(r) == "rule"
    ]
    return "namespace taeda::batch {\n\n" + "\n".join(lines) + "\n\n}  // namespace taeda::batch\n"


def draws(r):
    """Whether the operator draws random numbers: its rule runs even if no argument is batched."""
    takes_generator = any(a.type.base == "Generator" for a in r.schema.arguments)
    return takes_generator or "nondeterministic_seeded" in r.data.get("tags", [])


def entry(r, s):
    """(roles, initializer) of one overload's rule, or None."""
    rule = rule_of(r)
    if rule is None or s.outs:
        return None
    writes = "true" if s.is_inplace else "false"
    functional = f".function = static_cast<dispatch::Operator*>(&ops::{r.ident})"
    is_random = rule == "random" or (rule == "rule" and draws(r))
    tail = f".is_random = {'true' if is_random else 'false'}, .is_inplace = {writes}"
    if s is r.inplace and r.kind == "view":
        return "", f"{{.run = &batch_inplace_view, {functional}, {tail}, .keeps_level = true}}"
    if rule in GENERIC:
        roles = ", ".join(f"Role::{role(r, a)}" for a in s.arguments)
        if "batch_error" in r.data:
            tail += f", .error = {quoted(r.data['batch_error'])}"
        return (
            f"constexpr Role {s.ident}_roles[] = {{{roles or 'Role::Other'}}};\n",
            f"{{.run = &batch_{rule}, .roles = {s.ident}_roles, {tail}}}",
        )
    if rule == "decompose":
        sig = signature(s)
        fn = f"static_cast<{cpp_return(s)} (*)({', '.join(cpp_type(a) for a in s.arguments)})>(&impl::{s.ident})"
        return (
            "",
            f"{{.run = &batch_decompose<{sig}>, .function = reinterpret_cast<void*>({fn}), {tail}, .keeps_level = true}}",
        )
    if s is r.inplace:
        return "", f"{{.run = &batch_inplace, {functional}, {tail}, .keeps_level = true}}"
    return (
        "",
        f"{{.run = &batch_rule<{batched_signature(s)}>, .function = reinterpret_cast<void*>(&batch::{s.ident}), {tail}}}",
    )


def table(records):
    text = "namespace taeda::batch {\n\n"
    for r in records:
        for s in r.schemas:
            made = entry(r, s)
            if made:
                roles, value = made
                text += (
                    f"{roles}extern const dispatch::BatchRule {s.ident}_rule;\n"
                    f"const dispatch::BatchRule {s.ident}_rule{value};\n"
                )
    return text + "\n}  // namespace taeda::batch\n"
