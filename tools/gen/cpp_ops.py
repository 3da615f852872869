"""C++ surface of the operators: functions, methods, operator tables."""

from schema import cpp_default, cpp_return, cpp_type


def parameters(s, defaults=False, skip_self=False, scalar_for=None):
    out = []
    for i, a in enumerate(s.arguments):
        if skip_self and i == skip_self - 1:
            continue
        kind = "const Scalar&" if a.name == scalar_for else cpp_type(a)
        d = cpp_default(a) if defaults and not a.is_cpp_required else None
        out.append(f"{kind} {a.name}" + (f" = {d}" if d is not None else ""))
    return ", ".join(out)


def signature(s):
    return f"{cpp_return(s)}({', '.join(cpp_type(a) for a in s.arguments)})"


def names(s):
    return ", ".join(a.name for a in s.arguments)


def out_first(s):
    """The C++ order of an out variant: results first, as PyTorch has it."""
    outs = s.outs
    rest = [a for a in s.arguments if a not in outs]
    params = [f"Tensor& {a.name}" for a in outs]
    for a in rest:
        d = None if a.is_cpp_required else cpp_default(a)
        params.append(f"{cpp_type(a)} {a.name}" + (f" = {d}" if d is not None else ""))
    return ", ".join(params)


def function_name(s):
    return f"{s.name}_out" if s.outs else s.name


def return_type(s):
    if len(s.outs) > 1:
        return "std::tuple<" + ", ".join(["Tensor"] * len(s.outs)) + ">"
    return cpp_return(s)


def scalar_arguments(r):
    return [a for a in r.schema.arguments if a.name in r.data.get("scalar", [])]


def self_index(s):
    return next((i + 1 for i, a in enumerate(s.arguments) if a.name == "self"), 0)


def with_functions(records):
    """All but other names in the dispatcher for what C++ has a function for already."""
    return [r for r in records if r.variants or "alias" not in r.data]


def declarations(records):
    lines = []
    for r in with_functions(records):
        for s in r.schemas:
            if s.outs:
                lines.append(f"TAEDA_API {return_type(s)} {function_name(s)}({out_first(s)});")
                continue
            lines.append(f"TAEDA_API {return_type(s)} {s.name}({parameters(s, True)});")
            for a in scalar_arguments(r):
                if s.is_inplace and a.name == "self":
                    continue
                lines.append(
                    f"TAEDA_API {return_type(s)} {s.name}({parameters(s, True, scalar_for=a.name)});"
                )
    return "namespace taeda {\n\n" + "\n".join(lines) + "\n\n}  // namespace taeda\n"


def definitions(records):
    lines = []
    for r in with_functions(records):
        for s in r.schemas:
            if s.outs:
                plain = ", ".join(
                    [f"Tensor& {a.name}" for a in s.outs]
                    + [f"{cpp_type(a)} {a.name}" for a in s.arguments if a not in s.outs]
                )
                lines.append(
                    f"{return_type(s)} {function_name(s)}({plain}) {{ return ops::{s.ident}({names(s)}); }}"
                )
                continue
            lines.append(
                f"{return_type(s)} {s.name}({parameters(s)}) {{ return ops::{s.ident}({names(s)}); }}"
            )
            for a in scalar_arguments(r):
                if s.is_inplace and a.name == "self":
                    continue
                call = ", ".join(
                    f"wrapped_scalar({b.name})" if b.name == a.name else b.name for b in s.arguments
                )
                lines.append(
                    f"{return_type(s)} {s.name}({parameters(s, scalar_for=a.name)}) "
                    f"{{ return ops::{s.ident}({call}); }}"
                )
    return "\n".join(lines) + "\n"


def function_definitions(records):
    """Functions and methods of a family."""
    methods = "\n".join(d for _, d in method_parts(records))
    return f"namespace taeda {{\n\n{definitions(records)}\n{methods}\n\n}}  // namespace taeda\n"


def method_parts(records):
    """(declaration, definition) of every C++ method."""
    for r in records:
        for s in r.schemas:
            position = self_index(s)
            if s.outs or not position or not ({"method", "inplace"} & set(r.variants)):
                continue
            if "method" not in r.variants and not s.is_inplace:
                continue
            # What is const is the handle: a write goes to what it refers to, as in PyTorch.
            this = "const_cast<Tensor&>(*this)" if s.is_inplace else "*this"
            scalars = [None] + [a.name for a in scalar_arguments(r) if a.name != "self"]
            for scalar in scalars:
                params = parameters(s, True, position, scalar)
                plain = parameters(s, False, position, scalar)
                call = ", ".join(
                    this
                    if a.name == "self"
                    else f"wrapped_scalar({a.name})"
                    if a.name == scalar
                    else a.name
                    for a in s.arguments
                )
                yield (
                    f"  {cpp_return(s)} {s.name}({params}) const;",
                    f"{cpp_return(s)} Tensor::{s.name}({plain}) const {{ return ops::{s.ident}({call}); }}",
                )


def operator_declarations(records):
    lines = [
        f"extern TAEDA_API dispatch::TypedOperator<{signature(s)}> {s.ident};"
        for r in records
        for s in r.schemas
    ]
    return "namespace taeda::ops {\n\n" + "\n".join(lines) + "\n\n}  // namespace taeda::ops\n"


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


DENSE = ["CPU", "CUDA", "Meta", "OpenCL", "Lazy", "PrivateUse1", "PrivateUse2", "PrivateUse3"]


def slots(r, s):
    """(key, backend, function) of every generated kernel of one overload; devices add theirs."""
    rows = []
    if r.kind in ("composite", "explicit", "view"):
        rows += [("Dense", b, f"dense::{s.ident}") for b in DENSE]
    elif r.kind == "kernel":
        if r.data.get("meta"):
            rows.append(("Dense", "Meta", f"dense::{s.ident}_meta"))
    elif (s.outs or not r.out) and "parts" not in r.data:
        rows.append(("Dense", "Meta", f"dense::{s.ident}"))
    else:
        # Through the out form of the results' device, which may be another than the arguments'.
        rows += [("Dense", b, f"dense::{s.ident}") for b in DENSE if b != "CPU"]
    if s is r.schema and "autocast" in r.data:
        rows += [("Autocast", b, f"autocast::{s.ident}") for b in DENSE]
    if r.data.get("at_once"):
        rows.append(("ADInplaceOrView", "CPU", f"tracking::{s.ident}"))
    if r.kind == "composite":
        return rows
    if s.is_inplace or s.outs or (r.kind == "view" and r.grad):  # detach is no differentiable view
        rows.append(("ADInplaceOrView", "CPU", f"tracking::{s.ident}"))
    if r.grad or s.is_inplace or s.outs:
        rows += [("Autograd", b, f"autograd::{s.ident}") for b in DENSE]
    return rows


def mask(r, rows):
    keys = {k for k, _, _ in rows} | {"Dense"}
    if r.kind != "composite" and not r.data.get("conj_aware") and r.kind != "view":
        keys |= {"Conjugate", "Negative"}
    if r.kind != "composite":
        keys |= {"TransformFront", "TransformBack", "Python", "Fake"}
    elif r.data.get("seen_whole"):
        keys |= {"Python"}
    return (
        " | ".join(f"KeySet(Key::{k}).bits()" for k in sorted(keys))
        + " | KeySet::backends().bits()"
    )


TAGS = {
    "core": "Core",
    "nondeterministic_seeded": "NondeterministicSeeded",
    "dynamic_output_shape": "DynamicOutputShape",
    "data_dependent_output": "DataDependentOutput",
}


def tags(r, s):
    """The Tag bits of one overload: what the record says, and what its kind and schema show."""
    found = [TAGS[t] for t in r.data.get("tags", []) if t != "core" or s is r.schema]
    if r.kind == "pointwise":
        found.append("Pointwise")
    is_random = r.data.get("batch") == "random"
    if is_random or any(a.type.base == "Generator" for a in s.arguments):
        found.append("NondeterministicSeeded")
    return " | ".join(["0u", *(f"dispatch::Tag::{t}" for t in found)])


TRAITS = (
    "device_of_first",
    "mask_indices",
    "lifts_constant",
    "comes_apart",
    "unseen",
    "gives_itself",
    "takes_numbers",
    "metadata_decides",
)


def traits(r, s):
    """The last argument of an operator whose record says more than tags do."""
    found = []
    if "inverse" in r.data and s is r.schema:
        found.append(f".inverse = dispatch::ViewInverse::{INVERSES[r.data['inverse']]}")
    if "overwrites" in r.data and s is r.schema:
        found.append(f".overwrites = dispatch::Overwrite::{OVERWRITES[r.data['overwrites']]}")
    found += [f".{name} = true" for name in TRAITS if r.data.get(name)]
    if r.data.get("counted") and s is r.schema:
        found.append(f".counted = &impl::{s.ident}_counted")
    return f", {{{', '.join(found)}}}" if found else ""


INVERSES = {
    "same": "Same",
    "reshape": "Reshape",
    "dtype": "DType",
    "itself": "Itself",
    "permutation": "Permutation",
    "scatter": "Scatter",
    "select_each": "SelectEach",
    "slice_each": "SliceEach",
    "conjugate": "Conjugate",
    "negative": "Negative",
    "as_real": "AsReal",
    "as_complex": "AsComplex",
}


OVERWRITES = {"source": "Source", "zeros": "Zeros"}


def table(family, records, batch_entry):
    """Operators of a family; `batch_entry(r, s)` says whether an overload has a batching rule."""
    protos = {"dense": [], "tracking": [], "autograd": [], "autocast": []}
    rules = []
    ops, names_ = [], []
    for r in records:
        for s in r.schemas:
            rows = slots(r, s)
            for fn in dict.fromkeys(f for _, _, f in rows):
                where, ident = fn.split("::")
                plain = ", ".join(cpp_type(a) for a in s.arguments)
                protos[where].append(
                    f"{cpp_return(s)} {ident}(KeySet{', ' if plain else ''}{plain});"
                )
            entries = ", ".join(
                f"{{slot_of(Key::{k}, DeviceType::{b}), &{fn}}}" for k, b, fn in rows
            )
            composite = "true" if r.kind == "composite" else "false"
            has_rule = batch_entry(r, s)
            rule = f"&batch::{s.ident}_rule" if has_rule else "nullptr"
            if has_rule:
                rules.append(f"extern const dispatch::BatchRule {s.ident}_rule;")
            ops.append(
                f"constinit dispatch::TypedOperator<{signature(s)}> {s.ident}{{\n    {quoted(s.name)}, {quoted(s.overload)},"
                f" {quoted(s.text)},\n    {mask(r, rows)}, {composite},\n"
                f"    &dispatch::CallBoxedFor<{signature(s)}>::call,\n    {{{entries}}}, {rule}, {tags(r, s)}{traits(r, s)}}};"
            )
            names_.append(f"&{s.ident}")
    text = "namespace taeda {\n"
    for where, lines in protos.items():
        if lines:
            text += f"namespace {where} {{\n" + "\n".join(lines) + f"\n}}  // namespace {where}\n"
    if rules:
        text += "namespace batch {\n" + "\n".join(rules) + "\n}  // namespace batch\n"
    text += "}  // namespace taeda\n\nnamespace taeda::ops {\n\n" + "\n".join(ops)
    text += (
        f"\n\nnamespace {{\ndispatch::Operator* const {family}_operators[] = {{\n    "
        + ",\n    ".join(names_)
        + "};\n"
    )
    text += (
        f"dispatch::OperatorTable {family}_table{{{family}_operators, {len(names_)}, nullptr}};\n"
        f"const bool is_{family}_added = (dispatch::add_operator_table(&{family}_table), true);\n"
        "}  // namespace\n\n}  // namespace taeda::ops\n\n"
    )
    return text


def impl_declarations(records):
    """What a family's sources must define: the signatures are checked by the compiler."""
    impl = []
    for r in records:
        s = r.schema
        if "alias" in r.data or r.repeated:
            continue
        if r.data.get("counted"):
            impl.append(f"Tensor {s.ident}_counted(const Tensor& self, const SymInt& count);")
        if r.kind in ("view", "explicit", "composite"):
            impl.append(f"{return_type(s)} {s.ident}({parameters(s)});")
            if r.kind != "view":
                for v in (r.inplace, r.out):
                    if v:
                        impl.append(f"{cpp_return(v)} {v.ident}({parameters(v)});")
        elif r.kind == "structured":
            n = len(s.returns)
            result = "OutSpec" if n == 1 else f"std::array<OutSpec, {n}>"
            if "spec" not in r.data:
                impl.append(f"{result} {s.ident}_spec({parameters(s)});")
        elif r.kind == "kernel" and r.data.get("meta"):
            impl.append(f"{cpp_return(s)} {s.ident}_meta({parameters(s)});")
    text = "namespace taeda::impl {\n" + "\n".join(impl) + "\n}  // namespace taeda::impl\n"
    rules = [f"extern const PointwiseOp {r.ident};" for r in records if r.kind == "pointwise"]
    if rules:
        text += "\nnamespace taeda {\nstruct PointwiseOp;\nnamespace rules {\n" + "\n".join(rules)
        text += "\n}  // namespace rules\n}  // namespace taeda\n"
    return text


def out_names(r):
    if "out_names" in r.data:
        return r.data["out_names"]
    if len(r.schema.returns) == 1:
        return ["out"]
    return [x.name or f"out{i}" for i, x in enumerate(r.schema.returns)]
