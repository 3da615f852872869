"""The CPU's kernels: its forms of the records around hand-written functions and tiles of bodies.

They enter the operators' tables while the library starts, as those of any other device do.
"""

import cpp_repeats
from cpp_dense import (
    GUARD,
    TYPES,
    Structured,
    bodies,
    head,
    operands,
    pointwise_inplace_checks,
    spec,
    tile_types,
)
from cpp_ops import cpp_return, names, out_names, parameters


def has_own_kernel(r):
    """Whether the record has functions of its own on the CPU, beside what serves every device."""
    return r.kind in ("structured", "kernel") or r.data.get("kernel") or r.data.get("at_once")


def declarations(records):
    """What the sources of backends/cpu must define: the signatures are checked by the compiler."""
    lines = []
    for r in records:
        s = r.schema
        if r.kind == "structured":
            outs = ", ".join(f"Tensor& {n}" for n in out_names(r))
            lines.append(f"void {s.ident}({parameters(s)}, {outs});")
        elif r.repeated:
            continue
        elif r.data.get("at_once"):
            lines.append(f"{cpp_return(s)} {s.ident}(KeySet ks, {parameters(s)});")
        elif has_own_kernel(r):
            lines.append(f"{cpp_return(s)} {s.ident}({parameters(s)});")
            if r.out:
                lines.append(f"{cpp_return(r.out)} {r.out.ident}({parameters(r.out)});")
    return "namespace taeda::cpu {\n" + "\n".join(lines) + "\n}  // namespace taeda::cpu\n"


# ---- pointwise ----
def scalars(r):
    """Numbers a body takes, in order: Scalar, float and bool arguments, or what the record says."""
    if "uniforms" in r.data:
        return r.data["uniforms"]
    out = []
    for a in r.schema.arguments:
        if a.name in r.data.get("wrap", {}):
            continue
        if a.type.base == "Scalar":
            out.append(a.name if not a.type.is_optional else f"{a.name}.value_or(Scalar(0))")
        elif a.type.base in ("float", "bool", "int") and not a.type.is_list:
            out.append(f"Scalar({a.name})")
    return out


def scalar_array(r):
    given = scalars(r)
    if not given:
        return "  const Span<Scalar> scalars;\n"
    if len(given) == 1 and given[0].isidentifier():
        return f"  const Span<Scalar> scalars(&{given[0]}, 1);\n"
    return f"  const Scalar scalars[] = {{{', '.join(given)}}};\n"


def kernel_choice(r):
    tables = [table for table, _ in r.bodies]
    if len(tables) == 1:
        return f"  const PointwiseKernel& kernel = {tables[0]};\n"
    listed = ", ".join(f"&{t}" for t in tables)
    return (
        f"  static constexpr const PointwiseKernel* kKernels[] = {{{listed}}};\n"
        f"  const PointwiseKernel& kernel = *kKernels[{r.data['select']}];\n"
    )


def pointwise(r):
    numbers = scalar_array(r) + kernel_choice(r)
    run = "  run_pointwise(kernel, spec, {}, inputs, scalars);\n"
    text = (
        f"{head(r.schema)} {{\n{operands(r)}{numbers}"
        "  if (Tensor out = run_alike(kernel, inputs, scalars); out.defined()) return out;\n"
        f"{spec(r)}  Tensor out = spec.allocate();\n{run.format('out')}  return out;\n}}\n"
    )
    if r.inplace:
        text += (
            f"{head(r.inplace)} {{\n{pointwise_inplace_checks(r)}{numbers}"
            f"{run.format('self')}  return self;\n}}\n"
        )
    if r.out:
        text += (
            f"{head(r.out)} {{\n{operands(r)}{numbers}{spec(r)}  spec.prepare_out(out, inputs);\n"
            f"{run.format('out')}  return out;\n}}\n"
        )
    return text


# ---- structured and kernel ----
def structured(r):
    p = Structured(r)
    call = f"  cpu::{r.ident}({names(r.schema)}, {{}});\n"
    text = f"{head(r.schema)} {{\n{p.allocation()}{call.format(p.given)}  return {p.result};\n}}\n"
    if r.inplace:
        text += (
            f"{head(r.inplace)} {{\n{p.inplace_checks()}{call.format('self')}  return self;\n}}\n"
        )
    if r.out:
        text += (
            f"{head(r.out)} {{\n{p.out_checks()}{call.format(p.given)}  return {p.result};\n}}\n"
        )
    return text


def kernel(r):
    s = r.schema
    if r.repeated:
        return cpp_repeats.cpu(r)
    if r.data.get("at_once"):
        return f"{head(s)} {{ return cpu::{s.ident}(ks, {names(s)}); }}\n"
    text = f"{head(s)} {{\n{GUARD}  return cpu::{s.ident}({names(s)});\n}}\n"
    if r.out:
        text += f"{head(r.out)} {{ return cpu::{r.out.ident}({names(r.out)}); }}\n"
    return text


def kernels(records):
    """The CPU's slot of every overload that it computes itself."""
    found = [r for r in records if r.kind == "pointwise" or has_own_kernel(r)]
    text = "namespace taeda::cpu {\n"
    repeated = [r.repeated for r in records if r.repeated and r.data["at_once"]]
    own = [table for _, table, _, _ in bodies(records)]
    used = dict.fromkeys([*own, *(r.bodies[0][0] for r in repeated)])
    tables = [f"extern const PointwiseKernel {table};\n" for table in used]
    text += "".join(tables) + "\nnamespace {\n\n"
    by_kind = {"pointwise": pointwise, "structured": structured}
    for r in found:
        text += by_kind.get(r.kind, kernel)(r) + "\n"
    slots = [s for r in found for s in r.schemas]
    text += f"const bool has_{records[0].family}_kernels = [] {{\n"
    text += "".join(
        f"  dispatch::set_kernel(ops::{s.ident}, DeviceType::CPU, &{s.ident});\n" for s in slots
    )
    return text + "  return true;\n}();\n\n}  // namespace\n}  // namespace taeda::cpu\n"


# ---- tiles ----
def tile_list(r, body, types):
    return ", ".join(
        f"&kernel::run_tile<bodies::{body}, {t}>" if t in tile_types(r) else "nullptr"
        for t in types
    )


def isa_tiles(records):
    """Float and double tiles, compiled once per instruction set."""
    text = "namespace taeda::cpu::TAEDA_ISA {\n\n"
    for r, table, body, _ in bodies(records):
        text += (
            f"extern const TileFn {table}_tiles[2];\n"
            f"const TileFn {table}_tiles[2] = {{{tile_list(r, body, TYPES[:2])}}};\n"
        )
    return text + "\n}  // namespace taeda::cpu::TAEDA_ISA\n"


def base_tiles(records):
    """The other tiles and the kernel tables."""
    text = "namespace taeda::cpu {\n\n"
    for _, table, _, _ in bodies(records):
        text += f"TAEDA_DECLARE_ISA_TILES({table}_tiles)\n"
    text += "\n"
    for r, table, body, _ in bodies(records):
        text += (
            f"extern const PointwiseKernel {table};\n"
            f"constinit const PointwiseKernel {table}{{&rules::{r.ident}, TAEDA_ISA_TILES({table}_tiles),\n"
            f"    {{{tile_list(r, body, TYPES[2:])}}}, operands_of<bodies::{body}>(), grain_of<bodies::{body}>()}};\n"
        )
    return text + "\n}  // namespace taeda::cpu\n"


def kernel_table(records):
    """Every pointwise kernel by the name of its symbolic body."""
    rows = bodies(records)
    text = "namespace taeda::cpu {\n\n"
    text += "".join(f"extern const PointwiseKernel {table};\n" for _, table, _, _ in rows)
    text += "\nSpan<NamedKernel> named_kernels() {\n  static const NamedKernel all[] = {\n"
    text += ",\n".join(f'      {{"{label}", &{table}}}' for _, table, _, label in rows)
    return text + "};\n  return all;\n}\n\n}  // namespace taeda::cpu\n"
