"""Forms for devices that compile kernels: checks and shapes around lowerings (backends/lowered).

Functional and in-place forms of pointwise and structured records infer and hand over to the out
form (cpp_dense.py), so the out form alone is made here; a record without one has its other forms.
"""

from cpp_cpu import scalar_array
from cpp_dense import GUARD, Structured, bodies, head, operands, pointwise_inplace_checks, spec
from cpp_ops import cpp_return, names, out_names, parameters


def is_lowered(r):
    return r.kind == "pointwise" or r.data.get("lowered")


def declarations(records):
    """What the sources of backends/lowered must define."""
    lines = []
    for r in records:
        s = r.schema
        if r.kind == "pointwise" or not is_lowered(r):
            continue
        if r.kind == "structured":
            outs = ", ".join(f"Tensor& {n}" for n in out_names(r))
            lines.append(f"void {s.ident}({parameters(s)}, {outs});")
        else:
            lines.append(f"{cpp_return(s)} {s.ident}({parameters(s)});")
    return "namespace taeda::lowered {\n" + "\n".join(lines) + "\n}  // namespace taeda::lowered\n"


def body_choice(r):
    tables = [f"{table}_symbolic" for table, _ in r.bodies]
    if len(tables) == 1:
        return f"  const SymbolicBody& body = {tables[0]};\n"
    listed = ", ".join(f"&{t}" for t in tables)
    return (
        f"  static constexpr const SymbolicBody* kBodies[] = {{{listed}}};\n"
        f"  const SymbolicBody& body = *kBodies[{r.data['select']}];\n"
    )


def repeated(r):
    """Elements in one place: the CPU writes them one after the other."""
    if not r.data.get("fills_repeats"):
        return ""
    call = f"devices::fall_back(ops::{r.inplace.ident}, {names(r.inplace)});"
    return f"  if (repeats_elements(self)) {{\n    {call}\n    return self;\n  }}\n"


def pointwise(r):
    numbers = scalar_array(r) + body_choice(r)
    run = f"  run_pointwise(body, rules::{r.ident}, spec.common(), {{}}, inputs, scalars);\n"
    if r.out:
        yield (
            r.out,
            f"{head(r.out)} {{\n{operands(r)}{numbers}{spec(r)}  spec.prepare_out(out, inputs);\n"
            f"{run.format('out')}  return out;\n}}\n",
        )
        return
    inplace = r.schema if r.schema.is_inplace else r.inplace
    if not r.schema.is_inplace:
        yield (
            r.schema,
            f"{head(r.schema)} {{\n{operands(r)}{numbers}{spec(r)}"
            f"  Tensor out = spec.allocate();\n{run.format('out')}  return out;\n}}\n",
        )
    if inplace:
        yield (
            inplace,
            f"{head(inplace)} {{\n{repeated(r)}{pointwise_inplace_checks(r)}{numbers}"
            f"{run.format('self')}  return self;\n}}\n",
        )


def structured(r):
    p = Structured(r)
    call = f"  lowered::{r.ident}({names(r.schema)}, {{}});\n"
    given = call.format(p.given)
    if r.out:
        yield r.out, f"{head(r.out)} {{\n{p.out_checks()}{given}  return {p.result};\n}}\n"
    else:
        yield r.schema, f"{head(r.schema)} {{\n{p.allocation()}{given}  return {p.result};\n}}\n"
    if r.inplace and (repeated(r) or not r.out):
        code = f"{repeated(r)}{p.inplace_checks()}{call.format('self')}"
        yield r.inplace, f"{head(r.inplace)} {{\n{code}  return self;\n}}\n"


def kernel(r):
    s = r.schema
    yield s, f"{head(s)} {{\n{GUARD}  return lowered::{s.ident}({names(s)});\n}}\n"


def fused(r, form):
    """The operator that a compiler computes by a form: a pointwise one, by its only form or out."""
    is_fused = r.kind == "pointwise" and not r.schema.is_inplace and form in (r.out, r.schema)
    return f"&ops::{r.schema.ident}" if is_fused else "nullptr"


def forms(records):
    """The functions, and the table by which a device takes them."""
    found = [r for r in records if is_lowered(r)]
    text = "namespace taeda {\n"
    text += "".join(f"extern const SymbolicBody {t}_symbolic;\n" for _, t, _, _ in bodies(records))
    text += (
        "}  // namespace taeda\n\nnamespace taeda::lowered {\n\nnamespace forms {\nnamespace {\n\n"
    )
    by_kind = {"pointwise": pointwise, "structured": structured}
    schemas = []
    for r in found:
        for schema, code in by_kind.get(r.kind, kernel)(r):
            schemas.append((r, schema))
            text += code + "\n"
    rows = ",\n    ".join(
        f"{{&ops::{s.ident}, reinterpret_cast<void*>(&forms::{s.ident}), {fused(r, s)}}}"
        for r, s in schemas
    )
    family = records[0].family
    return text + (
        f"}}  // namespace\n}}  // namespace forms\n\nSpan<Form> {family}_forms() {{\n"
        f"  static const Form all[] = {{\n    {rows}}};\n  return all;\n}}\n\n"
        "}  // namespace taeda::lowered\n"
    )


def table(families):
    """Every family's forms in one list."""
    names_ = [f for f, rows in families.items() if any(is_lowered(r) for r in rows)]
    text = "namespace taeda::lowered {\n\n"
    text += "".join(f"Span<Form> {n}_forms();\n" for n in names_)
    text += "\nvoid for_each_form(FunctionRef<void(const Form&)> visit) {\n"
    text += "".join(f"  for (const Form& form : {n}_forms()) visit(form);\n" for n in names_)
    return text + "}\n\n}  // namespace taeda::lowered\n"
