"""Autograd nodes and kernels from the records' formulas, and the kernels that track views and versions."""

import re
from dataclasses import replace

import cpp_forward
import cpp_repeats
from cpp_ops import names, parameters
from records import words
from schema import cpp_return

OWNED = {
    "int": "int64_t",
    "SymInt": "SymInt",
    "float": "double",
    "bool": "bool",
    "str": "std::string",
    "ScalarType": "DType",
    "Layout": "Layout",
    "Device": "Device",
    "MemoryFormat": "MemoryFormat",
    "Scalar": "Scalar",
    "Generator": "Generator",
}
PROPERTIES = {
    "sizes": "std::vector<SymInt>",
    "strides": "std::vector<SymInt>",
    "dtype": "DType",
    "dim": "int64_t",
    "numel": "SymInt",
    "device": "Device",
    "storage_offset": "SymInt",
}
# PyTorch's names of the saved ones speak of symbolic integers.
SYMBOLIC = {
    "sizes": "sym_sizes().vec()",
    "strides": "sym_strides().vec()",
    "numel": "sym_numel()",
    "storage_offset": "impl()->sym_storage_offset()",
}
IS_OUTPUT = {"before": "false", "self": "false", "after": "true"}
LIST_PROPERTIES = {"sizes": "std::vector<std::vector<SymInt>>", "dtypes": "std::vector<DType>"}


def owned_type(t):
    base = OWNED[t.base]
    if t.is_list:
        base = f"std::vector<{base}>"
    return f"std::optional<{base}>" if t.is_optional and t.base != "Generator" else base


def result_names(s):
    if len(s.returns) == 1:
        return ["result"]
    return [f"result{i}" for i in range(len(s.returns))]


class Plan:
    """What a node keeps and how its formulas read it."""

    def __init__(self, r):
        self.r = r
        s = r.schema
        self.targets = [a for a in s.arguments if a.name in r.grad]
        self.members, self.saves, self.unpacks, self.releases, self.fields = [], [], [], [], []
        self.formulas = dict(r.grad)
        for a in s.arguments:
            self.tensor(a) if a.type.is_tensor else self.value(a)
        self.results(s)
        for a in self.targets:
            if a.type.is_list:
                self.members.append(f"size_t {a.name}_count = 0;")
                self.saves.append(("before", f"node->{a.name}_count = {a.name}.size();"))
        self.fields = list(dict.fromkeys(self.fields))

    def keep(self, when, name, value, shown=None):
        """Saves a tensor where one of the gradients that read it is wanted."""
        self.saves.append(
            (
                when,
                f"{self.condition(name)}node->{name}_ = SavedTensor({value}, {IS_OUTPUT[when]});",
            )
        )
        self.members.append(f"SavedTensor {name}_;")
        self.unpacks.append(f"const Tensor {name} = {name}_.unpack(this);")
        self.releases.append(f"{name}_.release();")
        self.fields.append(f'v.tensor("{shown or name}", {name}_);')

    def condition(self, name):
        """The test of the edges that lead to gradients whose formulas read `name`, if any can be spared."""
        if any(a.type.is_list for a in self.targets):
            return ""
        readers = [i for i, a in enumerate(self.targets) if name in words(self.formulas[a.name])]
        if len(readers) == len(self.targets):
            return ""
        return f"if ({' || '.join(f'node->has_edge({i})' for i in readers)}) "

    def replace_properties(self, name, properties, is_list):
        for prop, kind in properties.items():
            pattern = rf"\b{name}\.{prop}\(\)"
            if not any(re.search(pattern, f) for f in self.formulas.values()):
                continue
            self.formulas = {
                k: re.sub(pattern, f"{name}_{prop}", f) for k, f in self.formulas.items()
            }
            self.members.append(f"{kind} {name}_{prop};")
            if not is_list:
                shown = f"{name}_sym_{prop}" if prop in SYMBOLIC else f"{name}_{prop}"
                self.fields.append(f'v.value("{shown}", {name}_{prop});')
            read = SYMBOLIC.get(prop, f"{prop}()")
            value = f"list_{prop}({name})" if is_list else f"{name}.{read}"
            guard = "" if is_list else f"if ({name}.defined()) "
            self.saves.append(("before", f"{guard}node->{name}_{prop} = {value};"))

    def is_used(self, name):
        return any(name in words(f) for f in self.formulas.values())

    def tensor(self, a):
        n = a.name
        self.replace_properties(
            n, LIST_PROPERTIES if a.type.is_list else PROPERTIES, a.type.is_list
        )
        if not self.is_used(n):
            return
        if a.type.is_list:
            self.members.append(f"std::vector<SavedTensor> {n}_;")
            self.saves.append(
                ("before", f"for (const Tensor& t : {n}) node->{n}_.emplace_back(t, false);")
            )
            self.unpacks.append(
                f"std::vector<Tensor> {n};\n  for (const SavedTensor& t : {n}_) {n}.push_back(t.unpack(this));"
            )
            self.releases.append(f"for (SavedTensor& t : {n}_) t.release();")
            self.fields.append(f'v.tensors("{n}", {n}_);')
            return
        self.keep("self" if n == "self" else "before", n, n)

    def value(self, a):
        n = a.name
        if not self.is_used(n):
            return
        self.members.append(f"{owned_type(a.type)} {n}_{{}};")
        self.fields.append(f'v.value("{n}", boxed({n}_));')
        if a.type.is_list and a.type.is_optional:
            self.saves.append(("before", f"if ({n}) node->{n}_ = {n}->vec();"))
            base = OWNED[a.type.base]
            self.unpacks.append(
                f"const std::optional<Span<{base}>> {n} = {n}_ ? std::optional<Span<{base}>>(*{n}_) : std::nullopt;"
            )
        else:
            value = (
                f"{n}.vec()"
                if a.type.is_list
                else f"std::string({n})"
                if a.type.base == "str" and not a.type.is_optional
                else n
            )
            self.saves.append(("before", f"node->{n}_ = {value};"))
            self.unpacks.append(f"[[maybe_unused]] const auto& {n} = {n}_;")

    def results(self, s):
        for i, n in enumerate(result_names(s)):
            self.replace_properties(n, PROPERTIES, False)
            if self.is_used(n):
                self.keep("after", n, n, s.returns[i].name)
            # Properties of a result are known only after the call.
            self.saves = [
                ("after" if f"node->{n}_" in code else when, code) for when, code in self.saves
            ]


def joint_formula(formula, count):
    """The gradients of several arguments from one call."""
    wanted = ", ".join(f"needs_input(at + {i})" for i in range(count))
    any_wanted = " || ".join(f"grad_input_mask[{i}]" for i in range(count))
    puts = "".join(
        f"      if (grad_input_mask[{i}]) grad_inputs[at + {i}] = std::get<{i}>(made);\n"
        for i in range(count)
    )
    return (
        f"  {{\n    [[maybe_unused]] const bool grad_input_mask[] = {{{wanted}}};\n"
        f"    if ({any_wanted}) {{\n      const auto made = {formula};\n{puts}    }}\n"
        f"    at += {count};\n  }}"
    )


def node(r, p):
    is_final = "" if "inplace_node" in r.data else "final "
    lines = [f"struct {r.node} {is_final}: Node {{"]
    lines += [f"  {m}" for m in p.members]
    shown = "NotImplemented" if r.data.get("refuses_grad") is True else r.node
    lines.append(f'  const char* name() const override {{ return "{shown}"; }}')
    lines.append("  void apply(Span<Tensor> grads, std::vector<Tensor>& grad_inputs) override;")
    if p.releases:
        lines.append(
            "  void release_saved() override {\n    " + "\n    ".join(p.releases) + "\n  }"
        )
    if p.fields:
        lines.append("  void visit_saved(SavedVisitor& v) override;")
    lines.append("};\n")
    if p.fields:
        lines.append(f"void {r.node}::visit_saved(SavedVisitor& v) {{")
        lines += [f"  {field}" for field in p.fields]
        lines.append("}\n")
    unused = "[[maybe_unused]] " if "refuses_grad" in r.data else ""
    lines.append(
        f"void {r.node}::apply({unused}Span<Tensor> grads, std::vector<Tensor>& grad_inputs) {{"
    )
    if len(r.schema.returns) == 1 and not r.schema.returns[0].type.is_list:
        # Where an argument is called grad, formulas say grads[0] for the gradient.
        is_taken = any(a.name == "grad" for a in r.schema.arguments)
        name = "" if is_taken else "  const Tensor& grad = grads[0];\n"
        lines.append(f"{name}  if (!{'grads[0]' if is_taken else 'grad'}.defined()) return;")
    lines += [f"  {u}" for u in p.unpacks]
    lines.append("  [[maybe_unused]] size_t at = 0;")
    joint = {group[0]: group for group in r.joint_grads}
    in_joint = {name for group in r.joint_grads for name in group}
    for a in p.targets:
        formula = p.formulas[a.name]
        if a.name in joint:
            lines.append(joint_formula(formula, len(joint[a.name])))
        if a.name in in_joint:
            continue
        if a.type.is_list:
            lines.append(
                f"  if (needs_any_input(at, {a.name}_count)) put_list(grad_inputs, at, {formula});\n  at += {a.name}_count;"
            )
            continue
        lines.append(f"  if (needs_input(at)) grad_inputs[at] = {formula};\n  ++at;")
    lines.append("}\n")
    return "\n".join(lines)


def inplace_node(r):
    """The in-place form's own name of the node, where PyTorch has one."""
    if "inplace_node" not in r.data:
        return ""
    return (
        f"struct {r.data['inplace_node']} final : {r.node} {{\n"
        f'  const char* name() const override {{ return "{r.data["inplace_node"]}"; }}\n}};\n'
    )


def kernel_head(s):
    params = parameters(s)
    return f"{cpp_return(s)} {s.ident}(KeySet ks{', ' if params else ''}{params})"


def redispatch(s, key):
    return f"ops::{s.ident}.redispatch(ks & KeySet::below(Key::{key}){', ' if s.arguments else ''}{names(s)})"


def functional(r, p):
    s = r.schema
    targets = ", ".join(a.name for a in p.targets)
    save = lambda when: "".join(f"    {code}\n" for w, code in p.saves if w in when)
    constants = "".join(
        f'  check_constant("{function}", "{n}", {n});\n'
        for n, function in r.data.get("constant", {}).items()
    )
    text = (
        f"{kernel_head(s)} {{\n{constants}  IntrusivePtr<{r.node}> node;\n"
        f"  if (should_record({targets})) {{\n"
    )
    text += f"    node = make_intrusive<{r.node}>();\n    node->set_next_edges(collect_edges({targets}));\n"
    text += save(("before", "self")) + "  }\n"
    results = result_names(s)
    call = redispatch(s, "Autograd")
    inner = f"[&] {{\n    BelowAutograd guard;\n    return {call};\n  }}()"
    if len(results) > 1:
        text += f"  auto results = {inner};\n"
        text += "".join(
            f"  [[maybe_unused]] Tensor& {n} = std::get<{i}>(results);\n"
            for i, n in enumerate(results)
        )
        final = "results"
    else:
        text += f"  auto {results[0]} = {inner};\n"
        final = results[0]
    text += "  if (node) {\n"
    for i, n in enumerate(results):
        if i in r.data.get("plain_results", ()):
            text += f"    node->set_input_metadata({i}, Tensor());\n"
        elif s.returns[i].type.is_list:
            text += f"    set_history({n}, node);\n"
        elif s.returns[i].type.is_tensor:
            text += f"    set_history({n}, node{f', {i}' if len(results) > 1 else ''});\n"
    # Tangents before saved results, which keep theirs.
    text += f"  }}\n  if ({cpp_forward.condition(r)}) {cpp_forward.after(r, results)}\n"
    if after := save(("after",)):
        text += f"  if (node) {{\n{after}  }}\n"
    return text + f"  return {final};\n}}\n"


def inplace(r, s, p):
    """In-place variants: the old value of self is saved by copy where a formula reads it."""
    text = f"{kernel_head(s)} {{\n"
    if not r.grad:
        text += f"  check_inplace(self, requires_grad(self));\n  BelowAutograd guard;\n  {redispatch(s, 'Autograd')};\n  return self;\n}}\n"
        return text
    targets = ", ".join(a.name for a in p.targets)
    text += f"  const bool is_recording = should_record({targets});\n  check_inplace(self, is_recording);\n"
    # The forward rule reads what was there before the write; copies bring their tangents along.
    kept = [a.name for a in s.tensors if not a.type.is_list and cpp_forward.uses(r, a.name)]
    text += f"  const bool has_tangent = {cpp_forward.condition(r)};\n"
    for n in kept:
        text += f"  const Tensor {n}_before = has_tangent ? unshared({n}, self) : Tensor();\n"
    text += f"  IntrusivePtr<{r.node}> node;\n  if (is_recording) {{\n    node = make_intrusive<{r.data.get('inplace_node', r.node)}>();\n"
    text += f"    node->set_next_edges(collect_edges({targets}));\n"
    for when, code in p.saves:
        if when == "before":
            text += f"    {code}\n"
        elif when == "self":
            text += f"    {code.replace('SavedTensor(self, false)', 'SavedTensor(self.clone(), false)')}\n"
    text += f"  }}\n  {{\n    BelowAutograd guard;\n    {redispatch(s, 'Autograd')};\n  }}\n"
    # A view that changes its own geometry leaves its base alone; its tangent is changed alike, or is
    # seen through the new geometry if the base holds it.
    is_view = r.kind == "view"
    text += f"  if (node) {'set' if is_view else 'rebase'}_history(self, node);\n"
    condition = "has_tangent && self.impl()->has_tangent()" if is_view else "has_tangent"
    forward = cpp_forward.after(r, ["self"], kept, is_inplace=not is_view)
    text += f"  if ({condition}) {forward}\n"
    after = [code for when, code in p.saves if when == "after"]
    if after:
        text += "  if (node) {\n    const Tensor& result = self;\n"
        text += "".join(f"    {c}\n" for c in after) + "  }\n"
    return text + "  return self;\n}\n"


def out_variant(r, s):
    # What has no gradient loses none: comparisons and indices may be written anywhere.
    watched = s.tensors if r.grad else s.outs
    tensors = ", ".join(a.name for a in watched)
    return (
        f'{kernel_head(s)} {{\n  check_out_without_grad("{r.schema.name}", {tensors});\n'
        f"  if (any_tangent({tensors}))\n"
        f'    fail_no_forward("{r.schema.name}_out", "it is an out= function");\n'
        "  BelowAutograd guard;\n"
        f"  return {redispatch(s, 'Autograd')};\n}}\n"
    )


def written_in_place(r):
    """The record of an in-place form that has a gradient, where the result of the operator has none."""
    data = {k: v for k, v in r.data.items() if k not in ("no_grad", "inplace_node")}
    return replace(
        r, grad=dict(r.data["inplace_grad"]), data=data | {"node": r.data["inplace_node"]}
    )


def family_code(records):
    text = "namespace taeda::autograd {\n\nusing namespace gradients;\n\n"
    for r in records:
        if r.kind == "composite":
            continue
        written = written_in_place(r) if "inplace_grad" in r.data else r
        p = Plan(written) if written.grad else None
        if p:
            text += "namespace {\n\n" + node(written, p) + inplace_node(written) + "\n"
            text += cpp_forward.function(written) + "\n}  // namespace\n\n"
        if r.schema.is_inplace:
            text += inplace(r, r.schema, p) + "\n"
        elif r.grad:
            text += functional(r, p) + "\n"
        if r.inplace:
            text += inplace(written, r.inplace, p) + "\n"
        if r.out:
            text += out_variant(r, r.out) + "\n"
    return text + "}  // namespace taeda::autograd\n"


def tracking_code(records):
    """ADInplaceOrView: writes count a version, views remember their base."""
    text = cpp_repeats.prototypes(records) + "namespace taeda::tracking {\n\n"
    for r in records:
        if r.data.get("at_once"):
            text += cpp_repeats.tracking(r)
        if r.kind == "composite":
            continue
        for s in r.schemas:
            call = redispatch(s, "ADInplaceOrView")
            if s.is_inplace:
                text += (
                    f"{kernel_head(s)} {{\n  autograd::before_write(self);\n  {{\n    BelowADInplaceOrView guard;\n    {call};\n  }}\n"
                    "  autograd::count_write(self);\n  return self;\n}\n\n"
                )
            elif s.outs:
                outs = [a.name for a in s.outs]
                watched = "".join(f"  autograd::before_write({n});\n" for n in outs)
                bumps = "".join(f"  autograd::count_write({n});\n" for n in outs)
                result = f"{{{', '.join(outs)}}}" if len(outs) > 1 else outs[0]
                text += (
                    f"{kernel_head(s)} {{\n{watched}  {{\n    BelowADInplaceOrView guard;\n    {call};\n  }}\n"
                    f"{bumps}  return {result};\n}}\n\n"
                )
            elif r.kind == "view" and r.grad:
                text += (
                    f"{kernel_head(s)} {{\n  auto result = [&] {{\n    BelowADInplaceOrView guard;\n    return {call};\n  }}();\n"
                    "  autograd::track_view(self, result);\n  return result;\n}\n\n"
                )
    return text + "}  // namespace taeda::tracking\n"
