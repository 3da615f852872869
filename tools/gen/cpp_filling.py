"""The list of in-place operators that may write to expanded tensors (taeda/ops/filling.h)."""


def inplace_form(r):
    """The form of a record that fills, if it has one."""
    if not r.data.get("fills_repeats"):
        return None
    return r.schema if r.schema.is_inplace else r.inplace


def table(records):
    found = [form for r in records if (form := inplace_form(r))]
    rows = "".join(f"  visit(ops::{s.ident});\n" for s in found)
    return (
        "namespace taeda {\n\nvoid for_each_filling_operator("
        f"FunctionRef<void(dispatch::Operator&)> visit) {{\n{rows}}}\n\n}}  // namespace taeda\n"
    )
