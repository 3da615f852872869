"""Dense kernels of no particular device: what runs below autograd, assembled by kind of record.

The functional form infers and allocates the results, then hands over to the out form of the
results' device; on meta tensors it stops there. What a device computes with is generated beside it
(cpp_cpu.py), and nothing here knows one by name.
"""

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
# Operators that a kernel calls on its results are not tracked: a fresh result has version 0.
GUARD = "  BelowADInplaceOrView guard;\n"


def head(s, suffix=""):
    params = parameters(s)
    return f"{cpp_return(s)} {s.ident}{suffix}([[maybe_unused]] KeySet ks{', ' if params else ''}{params})"


def handed_over(r, given, first):
    """The statement that computes `given`, whose memory is there, by the device's own out form."""
    return (
        f"  if (!{first}.is_meta())\n"
        f"    ops::{r.out.ident}.redispatch(dense_keys({first}), {names(r.schema)}, {given});\n"
    )


# ---- pointwise ----
def pointwise_inputs(r):
    """Arguments that are operands: tensors, and numbers that take part in promotion."""
    return [a for a in r.schema.arguments if a.type.is_tensor or a.name in r.data.get("wrap", {})]


def pointwise_rule(r):
    accept = " | ".join(CLASSES[c] for c in r.data.get("accept", "bif"))
    if r.data.get("exact_numbers"):
        accept += " | kExactNumbers"
    if r.data.get("fills_repeats"):
        accept += " | kFillsRepeats"
    if r.data.get("layout_of_last"):
        accept += " | kLayoutOfLast"
    rule = RULES[r.data.get("dtype", "promote")]
    return (
        f'constinit const PointwiseOp {r.ident}{{"{r.schema.name}", DTypeRule::{rule}, {accept}, '
        f"{len(pointwise_inputs(r))}}};"
    )


def operands(r):
    """Statements that run the record's check and lay the operands out in `inputs`."""
    wrap = r.data.get("wrap", {})
    inputs = ", ".join(
        f"&{a.name}_operand" if a.name in wrap else f"&{a.name}" for a in pointwise_inputs(r)
    )
    lines = [r.data["check"]] if "check" in r.data else []
    lines += [f"const Tensor {n}_operand = {code};" for n, code in wrap.items()]
    lines.append(f"const Tensor* const inputs[] = {{{inputs}}};")
    return "".join(f"  {line}\n" for line in lines)


def argument_checks(r):
    """What bodies and numbers are chosen by, read for its errors where nothing is computed."""
    found = [r.data["select"]] if "select" in r.data else []
    found += r.data.get("uniforms", [])
    return "".join(f"  static_cast<void>({code});\n" for code in found)


def spec(r):
    return f"  const PointwiseSpec spec(rules::{r.ident}, inputs);\n"


def pointwise_inplace_checks(r):
    """What an in-place form does before it writes, given the statements that lay operands out."""
    first = f"  {r.data['check_inplace']}\n" if "check_inplace" in r.data else ""
    return (
        f"{first}{operands(r)}  PointwiseSpec::check_written(rules::{r.ident}, self, inputs);\n"
        f"{spec(r)}  spec.check_inplace(self);\n"
    )


def pointwise(r):
    call = handed_over(r, "out", "out") if r.out else ""
    text = (
        f"{head(r.schema)} {{\n{operands(r)}{argument_checks(r)}{spec(r)}"
        f"  Tensor out = spec.allocate();\n{call}  return out;\n}}\n"
    )
    if r.inplace:
        call = handed_over(r, "self", "self") if r.out else ""
        text += (
            f"{head(r.inplace)} {{\n{pointwise_inplace_checks(r)}{argument_checks(r)}{call}"
            "  return self;\n}\n"
        )
    if r.out:
        text += (
            f"{head(r.out)} {{\n{operands(r)}{argument_checks(r)}{spec(r)}"
            "  spec.prepare_out(out, inputs);\n"
            "  return out;\n}\n"
        )
    return text


# ---- structured ----
class Structured:
    """The parts that every device's forms of a structured record share."""

    def __init__(self, r):
        self.r = r
        self.outs = out_names(r)
        self.given = ", ".join(self.outs)
        self.result = f"{{{self.given}}}" if len(self.outs) > 1 else self.given
        call = r.data.get("spec", f"impl::{r.ident}_spec({names(r.schema)})")
        self.spec = f"{GUARD}  const auto spec = {call};\n"

    def at(self, i):
        return f"spec[{i}]" if len(self.outs) > 1 else "spec"

    def allocation(self):
        lines = (f"  Tensor {n} = {self.at(i)}.allocate();\n" for i, n in enumerate(self.outs))
        return self.spec + "".join(lines)

    def inplace_checks(self):
        how, spec = self.r.data.get("fills_repeats"), self.spec
        fills = ", true" if how is True else ""
        if how == "quietly":
            spec = spec.replace("const auto", "auto") + "  spec.may_repeat = true;\n"
        return f'{spec}  spec.check_inplace(self, "{self.r.schema.name}_"{fills});\n'

    def out_checks(self):
        """Fits the given results to the spec, memory of the arguments in view."""
        s = self.r.schema
        tensors = [a for a in s.arguments if a.type.is_tensor]
        spec_line, checks = self.spec, ""
        for i, n in enumerate(self.outs):
            checks += f'  {self.at(i)}.prepare_out({n}, "{s.name}");\n'
        if "out_dtype" in self.r.data:
            # The result takes the dtype that the record allows out to have.
            spec_line = spec_line.replace("const auto", "auto")
            checks = f"  spec.dtype = {self.r.data['out_dtype']};\n" + checks
        for i, n in enumerate(self.outs):
            for a in tensors:
                checks = f"  check_keeps_input({self.at(i)}, {n}, {a.name});\n" + checks
                if a.name not in self.r.data.get("copied_before_out", []):
                    checks += f"  check_no_overlap({n}, {a.name});\n"
        return spec_line + checks


def device_check(r):
    """The operands lie on one device; what only the CPU holds goes to its own kernels."""
    found = [a.name for a in r.schema.arguments if a.type.is_tensor and not a.type.is_list]
    if len(found) < 2 or r.data.get("device_of_first"):
        return ""
    return (
        f"  const Tensor* const operands[] = {{{', '.join(f'&{n}' for n in found)}}};\n"
        f'  const Tensor* const placed = check_same_device("{r.schema.name}", operands);\n'
    )


def result_check(r, p):
    """The operands lie where the result will: a number on the CPU may decide for neither."""
    if not device_check(r):
        return ""
    return f'  check_result_device("{r.schema.name}", placed, {p.at(0)}.device);\n'


def structured(r):
    p = Structured(r)
    if "parts" in r.data:
        return structured_by_parts(r, p)
    call = handed_over(r, p.given, p.outs[0]) if r.out else ""
    devices = device_check(r)
    p.spec += result_check(r, p)
    text = f"{head(r.schema)} {{\n{devices}{p.allocation()}{call}  return {p.result};\n}}\n"
    if r.inplace:
        call = handed_over(r, "self", "self") if r.out else ""
        text += f"{head(r.inplace)} {{\n{devices}{p.inplace_checks()}{call}  return self;\n}}\n"
    if r.out:
        text += f"{head(r.out)} {{\n{devices}{p.out_checks()}  return {p.result};\n}}\n"
    return text


def structured_by_parts(r, p):
    """For devices without a kernel: operators that they have, as the record says."""
    parts = r.data["parts"]
    return (
        f"{head(r.schema)} {{\n{p.spec}  if (!spec.device.is_meta()) return {parts};\n"
        "  return spec.allocate();\n}\n"
        f"{head(r.out)} {{\n{p.out_checks()}  return out.is_meta() ? out : out.copy_({parts});\n}}\n"
    )


# ---- one call per row of lists ----
def lists(s):
    return [a for a in s.arguments if a.type.is_list]


def over_lists_head(r):
    """The head of an operator over lists, and the statement that checks their lengths."""
    given = ", ".join(a.name for a in lists(r.schema))
    return f"{head(r.schema)} {{\n  check_lists({given});\n"


def row(r):
    """A function of i that calls the repeated operator for row i."""
    s, base = r.schema, r.repeated
    name = base.schema.name
    given = [
        _row_argument(a, target, base) for a, target in zip(s.arguments, base.schema.arguments)
    ]
    if not s.is_inplace:
        return f"[&](size_t i) {{ return taeda::{name}({', '.join(given)}); }}"
    call, from_row = (", ".join([first, *given[1:]]) for first in ("target", "from"))
    # An operator without a form in place has the gradient of its function.
    statement = (
        f"taeda::{name.rstrip('_')}_({call})"
        if base.inplace or base.schema.is_inplace
        else f"write_row(target, [&](const Tensor& from) {{ return taeda::{name}({from_row}); }})"
    )
    return f"[&](size_t i) {{\n    Tensor target = {given[0]};\n    {statement};\n  }}"


def _row_argument(a, target, base):
    text = f"{a.name}[i]" if a.type.is_list else a.name
    # The only overload of an operator takes numbers as tensors.
    is_number = a.type.base == "Scalar" and target.type.base == "Tensor"
    return f"wrapped_scalar({text})" if is_number and not base.schema.overload else text


def over_lists(r):
    run = "run_rows" if r.schema.is_inplace else "return rows_of"
    return f"{over_lists_head(r)}  {run}({lists(r.schema)[0].name}.size(), {row(r)});\n}}\n"


# ---- the same function for every device ----
def plain(r):
    """view, explicit, composite."""
    if r.repeated:
        return over_lists(r)
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
    if r.data.get("at_once") and "no_grad" in r.data:
        guard = "const BelowAutograd guard; "
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
    """A function of a device; here only what meta tensors do."""
    if not r.data.get("meta"):
        return ""
    s = r.schema
    return f"{head(s, '_meta')} {{ return impl::{s.ident}_meta({names(s)}); }}\n"


def dense(records):
    rules = [pointwise_rule(r) for r in records if r.kind == "pointwise"]
    text = ""
    if rules:
        text += (
            "namespace taeda::rules {\n" + "\n".join(rules) + "\n}  // namespace taeda::rules\n\n"
        )
    text += "namespace taeda::dense {\n\n"
    by_kind = {"pointwise": pointwise, "structured": structured, "kernel": kernel}
    text += "\n".join(by_kind.get(r.kind, plain)(r) for r in records)
    return text + "\n}  // namespace taeda::dense\n"


# ---- symbolic bodies ----
TYPES = ["float", "double", "int64_t", "uint64_t", "Complex<float>", "Complex<double>"]


def tile_types(r):
    """The compute types in which a pointwise record's bodies are read."""
    accept = r.data.get("accept", "bif")
    rule = r.data.get("dtype", "promote")
    types = []
    if "f" in accept or rule == "float":
        types += TYPES[:2]
    if ("i" in accept or "b" in accept) and rule != "float":
        types += TYPES[2:4]
    if "c" in accept:
        types += TYPES[4:]
    return types


def bodies(records):
    """(record, table name, body struct, label) of every pointwise body."""
    return [
        (r, table, body, r.key if i == 0 else f"{r.key}:{body}")
        for r in records
        if r.kind == "pointwise"
        for i, (table, body) in enumerate(r.bodies)
    ]


def symbolic(records):
    """One table entry per pointwise body: the body read with Sym."""
    text = "namespace taeda {\n\n"
    for r, table, body, label in bodies(records):
        mask = sum(1 << TYPES.index(t) for t in tile_types(r))
        text += (
            f"extern const SymbolicBody {table}_symbolic;\n"
            f'const SymbolicBody {table}_symbolic{{"{label}", {mask}, &kernel::trace_body<bodies::{body}>, divisor_of<bodies::{body}>()}};\n'
        )
    return text + "\n}  // namespace taeda\n"


def symbolic_table(records):
    found = [f"{table}_symbolic" for _, table, _, _ in bodies(records)]
    text = "namespace taeda {\n\n" + "".join(f"extern const SymbolicBody {n};\n" for n in found)
    text += "\nSpan<const SymbolicBody*> symbolic_bodies() {\n  static const SymbolicBody* const all[] = {\n"
    text += ",\n".join(f"      &{n}" for n in found)
    return text + "};\n  return all;\n}\n\n}  // namespace taeda\n"
