"""Dense kernels: what runs below autograd, assembled from rules and bodies by kind of record."""

from cpp_ops import function_name, names, out_names, parameters
from schema import cpp_return

CLASSES = {"b": "kAcceptBool", "i": "kAcceptInt", "f": "kAcceptFloat", "c": "kAcceptComplex"}
RULES = {
    "promote": "Promote",
    "float": "Float",
    "compare": "Compare",
    "bool": "Bool",
    "real": "Real",
    "mask_first": "MaskFirst",
    "self": "Self",
}


def head(s, suffix=""):
    params = parameters(s)
    return f"{cpp_return(s)} {s.ident}{suffix}([[maybe_unused]] KeySet ks{', ' if params else ''}{params})"


def pointwise_inputs(r):
    """Arguments that are operands: tensors, and numbers that take part in promotion."""
    return [a for a in r.schema.arguments if a.type.is_tensor or a.name in r.data.get("wrap", {})]


def pointwise_rule(r):
    accept = " | ".join(CLASSES[c] for c in r.data.get("accept", "bif"))
    if r.data.get("exact_numbers"):
        accept += " | kExactNumbers"
    rule = RULES[r.data.get("dtype", "promote")]
    ops = [
        f'{{"{r.schema.name}", DTypeRule::{rule}, {accept}, {len(pointwise_inputs(r))}, &cpu::{kernel}}}'
        for kernel, _ in r.bodies
    ]
    if len(ops) == 1:
        return f"constinit const PointwiseOp k{r.ident}{ops[0]};"
    return f"constinit const PointwiseOp k{r.ident}[] = {{{', '.join(ops)}}};"


def pointwise_scalars(r):
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


def checks(r):
    """The record's own argument check, a C++ statement."""
    return [r.data["check"]] if "check" in r.data else []


def pointwise(r):
    s = r.schema
    wrap = r.data.get("wrap", {})
    inputs = ", ".join(
        f"&{a.name}_operand" if a.name in wrap else f"&{a.name}" for a in pointwise_inputs(r)
    )
    scalars = pointwise_scalars(r)
    if not scalars:
        array = "const Span<Scalar> scalars;"
    elif len(scalars) == 1 and scalars[0].isidentifier():
        array = f"const Span<Scalar> scalars(&{scalars[0]}, 1);"
    else:
        array = f"const Scalar scalars[] = {{{', '.join(scalars)}}};"
    pick = f"[{r.data['select']}]" if len(r.bodies) > 1 else ""
    lines = [f"  {c}" for c in checks(r)] + [
        f"  const Tensor {n}_operand = {code};" for n, code in wrap.items()
    ]
    lines += [
        f"  const PointwiseOp& op = k{r.ident}{pick};",
        f"  const Tensor* const inputs[] = {{{inputs}}};",
        f"  {array}",
    ]
    spec = "  const PointwiseSpec spec(op, inputs);"
    prelude = "\n".join([*lines, spec])
    written = "  PointwiseSpec::check_written(op, self, inputs);"
    prelude_inplace = "\n".join([*lines, written, spec])
    below = "ks & KeySet::below(Key::BackendSelect)"
    alike = "  if (Tensor out = cpu::run_alike(op, inputs, scalars); out.defined()) return out;"
    first = "\n".join([*lines, alike, spec])
    out = [f"{head(s)} {{\n{first}\n  Tensor out = spec.allocate();"]
    if r.out:
        out.append(
            "  if (!run_pointwise(op, spec, out, inputs, scalars))\n"
            f"    ops::{r.out.ident}.redispatch({below}, {names(s)}, out);"
        )
    else:
        out.append("  run_pointwise(op, spec, out, inputs, scalars);")
    out.append("  return out;\n}")
    text = "\n".join(out) + "\n"
    if r.inplace:
        fallback = (
            f"    ops::{r.out.ident}.redispatch({below}, {names(s)}, self);\n"
            if r.out
            else "    unsupported_device(self);\n"
        )
        first = f"  {r.data['check_inplace']}\n" if "check_inplace" in r.data else ""
        text += (
            f"{head(r.inplace)} {{\n{first}{prelude_inplace}\n  spec.check_inplace(self);\n"
            f"  if (!run_pointwise(op, spec, self, inputs, scalars))\n{fallback}  return self;\n}}\n"
        )
    if r.out:
        text += (
            f"{head(r.out)} {{\n{prelude}\n  spec.prepare_out(out, inputs);\n"
            "  run_pointwise(op, spec, out, inputs, scalars);\n  return out;\n}\n"
        )
    return text


# Operators that a kernel calls on its results are not tracked: a fresh result has version 0.
GUARD = "  BelowADInplaceOrView guard;\n"


def structured(r):
    s = r.schema
    outs = out_names(r)
    spec_call = r.data.get("spec", f"impl::{s.ident}_spec({names(s)})")
    multi = len(outs) > 1
    spec = f"{GUARD}  const auto spec = {spec_call};\n"
    at = (lambda i: f"spec[{i}]") if multi else (lambda i: "spec")
    alloc = "".join(f"  Tensor {n} = {at(i)}.allocate();\n" for i, n in enumerate(outs))
    given = ", ".join(outs)
    result = f"{{{given}}}" if multi else given
    first = outs[0]
    if r.out:
        other = f"  else if (!{first}.is_meta()) ops::{r.out.ident}.redispatch(ks & KeySet::below(Key::BackendSelect), {names(s)}, {given});\n"
    else:
        other = f"  else if (!{first}.is_meta()) unsupported_device({first});\n"
    text = f"{head(s)} {{\n{spec}{alloc}  if ({first}.is_cpu()) cpu::{s.ident}({names(s)}, {given});\n{other}  return {result};\n}}\n"
    if r.inplace:
        text += (
            f'{head(r.inplace)} {{\n{spec}  spec.check_inplace(self, "{s.name}_");\n'
            f"  if (self.is_cpu()) cpu::{s.ident}({names(s)}, self);\n"
            + (
                f"  else if (!self.is_meta()) ops::{r.out.ident}.redispatch(ks & KeySet::below(Key::BackendSelect), {names(s)}, self);\n"
                if r.out
                else "  else if (!self.is_meta()) unsupported_device(self);\n"
            )
            + "  return self;\n}\n"
        )
    if r.out:
        tensors = [a for a in s.arguments if a.type.is_tensor]
        checks = "".join(f'  {at(i)}.prepare_out({n}, "{s.name}");\n' for i, n in enumerate(outs))
        if "out_dtype" in r.data:
            # The result takes the dtype that the record allows out to have.
            spec = spec.replace("const auto", "auto")
            checks = f"  spec.dtype = {r.data['out_dtype']};\n" + checks
        for i, n in enumerate(outs):
            for a in tensors:
                checks = f"  check_keeps_input({at(i)}, {n}, {a.name});\n" + checks
                checks += f"  check_no_overlap({n}, {a.name});\n"
        text += (
            f"{head(r.out)} {{\n{spec}{checks}  if ({first}.is_cpu()) cpu::{s.ident}({names(s)}, {given});\n"
            f"  return {result};\n}}\n"
        )
    return text


def plain(r):
    """view, explicit, composite: one function for every device."""
    if "alias" in r.data:
        calls = []
        for v in r.schemas:
            given = (
                names(v)
                if not v.outs
                else ", ".join(
                    [a.name for a in v.outs] + [a.name for a in v.arguments if a not in v.outs]
                )
            )
            calls.append(
                f"{head(v)} {{ return taeda::{function_name(v).replace(r.schema.name, r.data['alias'], 1)}({given}); }}"
            )
        return "\n".join(calls) + "\n"
    # What an explicit operator does inside is its own: neither recorded nor counted as a version.
    guard = "const BelowADInplaceOrView guard; " if r.kind == "explicit" else ""
    lines = [f"{head(r.schema)} {{ {guard}return impl::{r.ident}({names(r.schema)}); }}"]
    if r.inplace:
        if r.kind == "view":
            lines.append(
                f"{head(r.inplace)} {{\n  const Tensor v = impl::{r.ident}({names(r.schema)});\n"
                "  self.impl()->set_sym_geometry(v.sym_sizes(), v.sym_strides(), v.impl()->sym_storage_offset());\n  return self;\n}"
            )
        else:
            lines.append(
                f"{head(r.inplace)} {{ {guard}return impl::{r.inplace.ident}({names(r.inplace)}); }}"
            )
    if r.out:
        lines.append(f"{head(r.out)} {{ {guard}return impl::{r.out.ident}({names(r.out)}); }}")
    return "\n".join(lines) + "\n"


def kernel(r):
    s = r.schema
    text = f"{head(s)} {{\n{GUARD}  return cpu::{s.ident}({names(s)});\n}}\n"
    if r.out:
        text += f"{head(r.out)} {{ return cpu::{r.out.ident}({names(r.out)}); }}\n"
    if r.data.get("meta"):
        text += f"{head(s, '_meta')} {{ return impl::{s.ident}_meta({names(s)}); }}\n"
    return text


def dense(records):
    rules = [pointwise_rule(r) for r in records if r.kind == "pointwise"]
    kernels = "".join(
        f"extern const PointwiseKernel {kernel};\n"
        for r in records
        if r.kind == "pointwise"
        for kernel, _ in r.bodies
    )
    text = ""
    if rules:
        text += f"namespace taeda::cpu {{\n{kernels}}}  // namespace taeda::cpu\n\n"
    text += "namespace taeda::dense {\n"
    if rules:
        text += "\nnamespace {\n" + "\n".join(rules) + "\n}  // namespace\n\n"
    by_kind = {"pointwise": pointwise, "structured": structured, "kernel": kernel}
    for r in records:
        text += by_kind.get(r.kind, plain)(r) + "\n"
    return text + "}  // namespace taeda::dense\n"


# ---- tiles ----
def tile_types(r):
    accept = r.data.get("accept", "bif")
    rule = r.data.get("dtype", "promote")
    types = []
    if "f" in accept or rule == "float":
        types += ["float", "double"]
    if ("i" in accept or "b" in accept) and rule != "float":
        types += ["int64_t", "uint64_t"]
    if "c" in accept:
        types += ["Complex<float>", "Complex<double>"]
    return types


TYPES = ["float", "double", "int64_t", "uint64_t", "Complex<float>", "Complex<double>"]


def tile_rows(records):
    return [
        (r, kernel, body) for r in records if r.kind == "pointwise" for kernel, body in r.bodies
    ]


def tile_list(r, body, types):
    return ", ".join(
        f"&kernel::run_tile<bodies::{body}, {t}>" if t in tile_types(r) else "nullptr"
        for t in types
    )


def isa_tiles(family, records):
    """Float and double tiles, compiled once an instruction set."""
    text = "namespace taeda::cpu::TAEDA_ISA {\n\n"
    for r, kernel, body in tile_rows(records):
        text += (
            f"extern const TileFn {kernel}_tiles[2];\n"
            f"const TileFn {kernel}_tiles[2] = {{{tile_list(r, body, TYPES[:2])}}};\n"
        )
    return text + "\n}  // namespace taeda::cpu::TAEDA_ISA\n"


def base_tiles(family, records):
    """The other tiles and the kernel tables."""
    text = "namespace taeda::cpu {\n\n"
    for _, kernel, _ in tile_rows(records):
        text += f"TAEDA_DECLARE_ISA_TILES({kernel}_tiles)\n"
    text += "\n"
    for r, kernel, body in tile_rows(records):
        text += (
            f"extern const PointwiseKernel {kernel};\nconstinit const PointwiseKernel {kernel}{{TAEDA_ISA_TILES({kernel}_tiles),\n"
            f"    {{{tile_list(r, body, TYPES[2:])}}}, operands_of<bodies::{body}>()}};\n"
        )
    return text + "\n}  // namespace taeda::cpu\n"


# ---- symbolic bodies ----
def symbolic(records):
    """One table entry a pointwise body: the body read with Sym, and its eager tile for comparison."""
    rows = tile_rows(records)
    text = "namespace taeda {\n\nnamespace cpu {\n"
    text += (
        "".join(f"extern const PointwiseKernel {kernel};\n" for _, kernel, _ in rows)
        + "}  // namespace cpu\n\n"
    )
    for r, kernel, body in rows:
        mask = sum(1 << TYPES.index(t) for t in tile_types(r))
        label = r.key if (kernel, body) == r.bodies[0] else f"{r.key}:{body}"
        text += (
            f'extern const SymbolicBody {kernel}_symbolic;\nconst SymbolicBody {kernel}_symbolic{{"{label}", {mask},\n'
            f"    &kernel::trace_body<bodies::{body}>,\n"
            f"    [](kernel::Type t) {{ return cpu::tile_of(cpu::{kernel}, static_cast<cpu::ComputeType>(t)); }}}};\n"
        )
    return text + "\n}  // namespace taeda\n"


def symbolic_table(records):
    names_ = [f"{kernel}_symbolic" for _, kernel, _ in tile_rows(records)]
    text = "namespace taeda {\n\n" + "".join(f"extern const SymbolicBody {n};\n" for n in names_)
    text += "\nSpan<const SymbolicBody*> symbolic_bodies() {\n  static const SymbolicBody* const all[] = {\n"
    text += ",\n".join(f"      &{n}" for n in names_)
    return text + "};\n  return all;\n}\n\n}  // namespace taeda\n"
