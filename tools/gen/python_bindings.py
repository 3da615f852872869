"""Python bindings: one METH_FASTCALL function a Python name, trying the overloads in record order."""

from cpp_ops import function_name, quoted

TYPES = {
    "Tensor": "Tensor",
    "Scalar": "Scalar",
    "int": "Int",
    "SymInt": "SymInt",
    "float": "Float",
    "bool": "Bool",
    "str": "Str",
    "ScalarType": "DType",
    "Device": "Device",
    "Layout": "Layout",
    "MemoryFormat": "MemoryFormat",
    "Generator": "Generator",
}
LISTS = {
    "Tensor": "TensorList",
    "int": "IntList",
    "SymInt": "SymIntList",
    "float": "FloatList",
    "bool": "BoolList",
    "Scalar": "FloatList",
}
PRINTED = {
    "Tensor": "Tensor",
    "Scalar": "Number",
    "int": "int",
    "SymInt": "int",
    "float": "float",
    "bool": "bool",
    "str": "str",
    "ScalarType": "torch.dtype",
    "Device": "torch.device",
    "Layout": "torch.layout",
    "MemoryFormat": "torch.memory_format",
    "Generator": "torch.Generator",
}
GETTERS = {
    "Scalar": "scalar",
    "int": "integer",
    "SymInt": "symint",
    "float": "number",
    "bool": "boolean",
    "str": "string",
    "ScalarType": "dtype",
    "Device": "device",
    "Layout": "layout",
    "MemoryFormat": "memory_format",
}
LIST_GETTERS = {"int": "ints", "SymInt": "symints", "float": "numbers", "bool": "booleans"}


class Parameter:
    """One Python parameter: an argument of the schema, `out`, or `requires_grad`."""

    is_shown = True

    def __init__(
        self,
        name,
        base,
        is_list=False,
        allow_none=False,
        kw=False,
        default=None,
        number=False,
        size=-1,
        argument=None,
    ):
        self.name, self.base, self.is_list, self.allow_none = name, base, is_list, allow_none
        self.kw, self.default, self.number, self.size, self.argument = (
            kw,
            default,
            number,
            size,
            argument,
        )

    def code(self):
        kind = (LISTS if self.is_list else TYPES)[self.base]
        if (
            self.base == "Tensor"
            and self.is_list
            and self.argument
            and self.argument.type.has_optional_items
        ):
            kind = "OptionalTensorList"
        flags = [self.allow_none, self.kw, self.default is not None, self.number]
        return (
            f'{{"{self.name}", ParamType::{kind}, '
            + ", ".join(str(bool(f)).lower() for f in flags)
            + f", {self.size}}}"
        )

    def text(self, is_function):
        name = "input" if self.name == "self" and is_function else self.name
        printed = PRINTED[self.base]
        if self.is_list:
            printed = f"tuple of {printed}s"
        default = "" if self.default is None else f" = {self.default}"
        return f"{printed} {name}{default}"


def python_parameters(r, s, as_method):
    out = []
    for a in s.arguments:
        t = a.type
        size = -1
        if t.is_list and t.base in ("int", "SymInt", "float"):
            size = t.list_size if t.list_size > 0 else -1
            # A list of single integers is the last of a call: after `input` it is a method's.
            if r.data.get("varargs") == a.name and (as_method or a is s.arguments[0]):
                size = "kVarargs"
        number = t.is_tensor and not t.is_list and a.name in r.data.get("scalar", [])
        default = a.default
        name = r.data.get("python", {}).get("arguments", {}).get(a.name, a.name)
        # None stands for an empty list that may be left out, as in PyTorch.
        allow_none = t.is_optional or (t.is_list and default == "[]")
        out.append(
            Parameter(
                name, t.base, t.is_list, allow_none, a.is_kwarg_only, default, number, size, a
            )
        )
    if as_method:
        out.sort(key=lambda p: p.name != "self")
    if not s.is_inplace and r.out and not as_method:
        multi = len(r.out.outs) > 1
        out.append(Parameter("out", "Tensor", multi, True, True, "None"))
    if r.data.get("factory"):
        out.append(Parameter("requires_grad", "bool", kw=True, default="False"))
    return out


def deprecated_orders(r):
    """The older forms of a call: the names of their positional parameters, in order."""
    return [order.split(", ") for order in r.data.get("python", {}).get("deprecated", [])]


def in_deprecated_order(params, order, as_method):
    """The parameters of an older form, in which those of `order` are positional and needed."""
    by_name = {p.name: p for p in params}
    if as_method:
        order = ["self", *(name for name in order if name != "self")]
    positional = [by_name.pop(name) for name in order]
    for p in positional:
        p.kw, p.default = False, None
    # What is not named keeps its default; texts of the form leave it out.
    for p in by_name.values():
        p.is_shown = p.argument is None
    return positional + list(by_name.values())


def value(p, i):
    """The C++ expression that reads parameter i, and lines that must come before it."""
    a = p.argument
    if p.base == "Tensor":
        if p.is_list:
            return f"list{i}", [f"const std::vector<Tensor> list{i} = a.tensors({i});"]
        return f"a.tensor({i})", []
    if p.base == "Generator":
        return f"a.generator({i})", []
    if p.is_list and p.base == "Scalar":
        return f"list{i}", [f"const std::vector<Scalar> list{i} = read_scalars(a.object({i}));"]
    if p.is_list:
        getter = LIST_GETTERS[p.base]
        if a.type.is_optional:
            return f"optional_span(list{i})", [f"const auto list{i} = a.opt_{getter}({i});"]
        fallback = ""
        if a.default not in (None, "[]"):
            values = (
                a.default[1:-1]
                if a.default.startswith("[")
                else ", ".join([a.default] * max(a.type.list_size, 1))
            )
            fallback = f", {{{values}}}"
        return f"list{i}", [f"const auto list{i} = a.{getter}({i}{fallback});"]
    getter = GETTERS[p.base]
    from schema import cpp_default

    if p.allow_none:
        default = "" if a.default in (None, "None") else f".value_or({cpp_default(a)})"
        return f"a.opt_{getter}({i}){default}", []
    d = cpp_default(a) if a.default is not None else None
    return f"a.{getter}({i}{f', {d}' if d is not None else ''})", []


def with_place(s, a, expression):
    """The options of a factory that Python does not leave open: handlers of its call see them."""
    if a.name == "pin_memory" and a.type.is_optional:
        return f"{expression}.value_or(false)"
    is_like = any(other.type.base == "Tensor" for other in s.arguments)
    if a.name == "device" and a.type.is_optional and not is_like:
        return f"{expression}.value_or(default_device())"
    return expression


def result(r, s, call, suffix=""):
    if r.data.get("python", {}).get("gives_first"):
        return f"{call};\n        return Py_NewRef(a.object(0));"
    if not s.returns:
        return f"{call};\n        Py_RETURN_NONE;"
    named = len(s.returns) > 1 and all(x.name for x in s.returns)
    if named:
        return (
            f'static PyTypeObject* const type = named_result_type("{r.schema.name}{suffix}");\n'
            f"        return wrap_named(type, {call});"
        )
    return f"return wrap({call});"


def case(r, s, params, index):
    lines, values, first = [], {}, None
    for i, p in enumerate(params):
        if p.argument is None:
            continue
        expression, before = value(p, i)
        lines += before
        # Arguments are read here, while the interpreter is held; the call may let go of it.
        if expression.startswith("a."):
            kind = "Tensor&" if p.base == "Tensor" else "const auto"
            lines.append(f"{kind} value{i} = {expression};")
            expression = f"value{i}"
        values[p.argument.name] = expression
        if first is None and p.base == "Tensor":
            first = (
                f"is_large(value{i})"
                if not p.is_list
                else f"!list{i}.empty() && is_large(list{i}[0])"
            )
    ordered = [values[a.name] for a in s.arguments]
    if r.data.get("factory"):
        ordered = [with_place(s, a, expression) for a, expression in zip(s.arguments, ordered)]
    gil = f"GilRelease gil({first}); " if first else ""
    call = f"[&]() -> decltype(auto) {{ {gil}return taeda::{s.name}({', '.join(ordered)}); }}()"
    text = f"      case {index}: {{\n" + "".join(f"        {line}\n" for line in lines)
    out_at = next((i for i, p in enumerate(params) if p.name == "out" and p.argument is None), None)
    if out_at is not None:
        outs = r.out.outs
        if len(outs) > 1:
            text += (
                f"        if (a.has({out_at})) {{\n          std::vector<Tensor> outs = a.tensors({out_at});\n"
                f"          TAEDA_CHECK_TYPE(outs.size() == {len(outs)}, \"{r.python_name}(): argument 'out' must be tuple of Tensors of length {len(outs)}\");\n"
            )
            given = ", ".join(f"outs[{k}]" for k in range(len(outs)))
        else:
            text += f"        if (a.has({out_at})) {{\n"
            text += f"          Tensor& given = a.tensor({out_at});\n"
            given = "given"
            if r.data.get("factory"):
                # A dtype that is not given is that of the memory.
                dtype_at = next(i for i, p in enumerate(params) if p.name == "dtype")
                text += f"          check_out_options({given}, a.opt_dtype({dtype_at}), {values['layout']}, {values['device']});\n"
        given_out = [values[a.name] for a in r.out.arguments if a not in outs]
        call_out = f"[&]() -> decltype(auto) {{ {gil}return taeda::{function_name(r.out)}({', '.join([given, *given_out])}); }}()"
        text += (
            "          "
            + result(r, s, call_out, "_out").replace("\n        ", "\n          ")
            + "\n        }\n"
        )
    grad_at = next(
        (i for i, p in enumerate(params) if p.name == "requires_grad" and p.argument is None), None
    )
    if grad_at is not None:
        text += (
            f"        Tensor r = {call};\n        if (a.boolean({grad_at})) autograd::set_requires_grad(r, true);\n"
            "        return wrap(r);\n      }\n"
        )
    else:
        text += f"        {result(r, s, call)}\n      }}\n"
    return text


def binding(name, rows, as_method):
    """rows: (record, schema) that answer to this Python name."""
    kind = "method" if as_method else "function"
    ident = f"py_{kind}_{name}"
    arrays, signatures, cases = [], [], []
    forms = [(r, s, None) for r, s in rows] + [
        (r, s, order) for r, s in rows for order in deprecated_orders(r)
    ]
    for i, (r, s, order) in enumerate(forms):
        params = python_parameters(r, s, as_method)
        if order is not None:
            params = in_deprecated_order(params, order, as_method)
        code = ",\n    ".join(p.code() for p in params)
        shown = [p for p in params if p.is_shown and not (as_method and p.name == "self")]
        parts, starred = [], False
        for p in shown:
            if p.kw and not starred:
                parts.append("*")
                starred = True
            parts.append(p.text(not as_method))
        # Methods drop the first parameter when they print the text.
        text = "(" + ", ".join((["Tensor input"] if as_method else []) + parts) + ")"
        arrays.append(
            f"  static const Param params{i}[] = {{\n    {code}}};"
            if params
            else f"  static const Param* const params{i} = nullptr;"
        )
        older = "" if order is None else ", true"
        signatures.append(f"{{{quoted(text)}, params{i}, {len(params)}{older}}}")
        cases.append(case(r, s, params, i))
    owner = "self" if as_method else "module"
    text = f"PyObject* {ident}(PyObject* {owner}, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {{\n"
    text += (
        "\n".join(arrays)
        + f"\n  static const Signature signatures[] = {{{', '.join(signatures)}}};\n"
    )
    text += f'  Args a;\n  const int chosen = parse_{kind}("{name}", signatures, {len(forms)}, {owner}, args, nargs, kwnames, a);\n'
    text += "  if (chosen < 0) return a.overridden();\n  return guarded([&]() -> PyObject* {\n    switch (chosen) {\n"
    text += "".join(cases) + "    }\n    return nullptr;\n  });\n}\n\n"
    return ident, text


def doc_of(name, rows):
    r, s = rows[0]
    first = f"{name}{s.text[s.text.index('(') :]}"
    return quoted(first + "\\n\\n" + r.data.get("doc", "").strip().replace("\n", "\\n")).replace(
        "\\\\n", "\\n"
    )


def entry(name, ident, rows):
    return (
        f'    {{"{name}", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&{ident})), '
        f"METH_FASTCALL | METH_KEYWORDS, {doc_of(name, rows)}}},"
    )


def groups(records):
    """Python names of a set of records: (methods, functions by module)."""
    methods, functions = {}, {}
    for r in records:
        python = r.data.get("python", {})
        has_self = any(a.name == "self" for a in r.schema.arguments)
        if has_self and ("offered" in python or "method" in r.variants):
            methods.setdefault(r.python_name, []).append((r, r.schema))
        if r.inplace:
            methods.setdefault(r.python_name + "_", []).append((r, r.inplace))
        if "function" in r.variants or ("offered" in python and not r.schema.is_inplace):
            functions.setdefault(r.python_module, {}).setdefault(r.python_name, []).append(
                (r, r.schema)
            )
            # PyTorch offers unary in-place forms as functions too, not those with a number for
            # the second operand; of others the records tell.
            is_unary = sum(a.type.is_tensor for a in r.schema.arguments) == 1
            is_offered = python.get("inplace_function", False)
            if r.inplace and (is_offered or (is_unary and "Scalar" not in r.schema.overload)):
                functions[r.python_module].setdefault(r.python_name + "_", []).append(
                    (r, r.inplace)
                )
    for rows in (*methods.values(), *(v for f in functions.values() for v in f.values())):
        rows.sort(key=lambda row: numbers_taken(row[1]))
    return methods, functions


def numbers_taken(s):
    """Positional numbers: overloads with tensors in their place come first, since a tensor of no
    dimensions passes for a number. Lists of numbers come before lists of tensors, which any list
    passes for."""
    taken = [a for a in s.arguments if a.type.base == "Scalar" and not a.is_kwarg_only]
    return sum(-1 if a.type.is_list else 1 for a in taken)


MODULES = ("", "nn", "special", "linalg")


def family_code(family, records):
    methods, functions = groups(records)
    text = "namespace taeda::python {\nnamespace {\n\n"
    tables = {"methods": []}
    for name, rows in methods.items():
        ident, code = binding(name, rows, True)
        text += code
        tables["methods"].append(entry(name, ident, rows))
    for module in MODULES:
        tables[module] = []
        for name, rows in functions.get(module, {}).items():
            ident, code = binding(name, rows, False)
            ident2 = f"{ident}_{module}" if module else ident
            text += code.replace(f"PyObject* {ident}(", f"PyObject* {ident2}(")
            tables[module].append(entry(name, ident2, rows))
    text += "}  // namespace\n\n"
    for key, rows in tables.items():
        label = {"methods": "methods", "": "functions"}.get(key, f"{key}_functions")
        text += f"extern const PyMethodDef {family}_{label}[];\nconst PyMethodDef {family}_{label}[] = {{\n"
        text += "\n".join(rows) + "\n    {nullptr, nullptr, 0, nullptr}};\n"
    return text + "\n}  // namespace taeda::python\n"


def tables(families):
    text = "namespace taeda::python {\n\n"
    labels = {
        "tensor_method_tables": "methods",
        "function_tables": "functions",
        "nn_function_tables": "nn_functions",
        "special_function_tables": "special_functions",
        "linalg_function_tables": "linalg_functions",
    }
    for f in families:
        for label in labels.values():
            text += f"extern const PyMethodDef {f}_{label}[];\n"
    for table, label in labels.items():
        rows = ", ".join(f"{f}_{label}" for f in families)
        text += f"\nconst PyMethodDef* const {table}[] = {{{rows}, nullptr}};\n"
    return text + "\n}  // namespace taeda::python\n"
