"""Forward-mode rules: the tangents of results from those of the arguments, beside the autograd kernels."""

from records import words
from schema import cpp_type

NAMED = ("linear", "multilinear", "elementwise", "zeros")


def rule_of(r):
    """The record's rule: a name of NAMED, a dict result -> formula, or None with a reason."""
    if "no_forward" in r.data:
        return None
    rule = r.data.get("forward", "elementwise" if r.kind == "pointwise" else None)
    if isinstance(rule, str) and rule not in NAMED:
        return {"result" if len(r.schema.returns) == 1 else "result0": rule}
    return rule


def result_names(s):
    if len(s.returns) == 1:
        return ["result"]
    return [f"result{i}" for i in range(len(s.returns))]


def targets(r):
    return [a for a in r.schema.arguments if a.name in r.grad]


def result_parameters(s):
    return "".join(
        f", const {'std::vector<Tensor>' if x.type.is_list else 'Tensor'}& {n}"
        for n, x in zip(result_names(s), s.returns)
    )


def uses(r, name):
    """Whether the rule reads this name's value (not only its tangent)."""
    rule = rule_of(r)
    if rule == "elementwise":
        return any(name in words(f) for f in r.grad.values())
    if rule == "multilinear":
        return len(targets(r)) > 1
    if isinstance(rule, dict):
        return any(name in words(f) for f in rule.values())
    return False


def call(r, replaced):
    """The operator itself with some arguments replaced."""
    return f"ops::{r.ident}({', '.join(replaced.get(a.name, a.name) for a in r.schema.arguments)})"


def linear(r):
    """All differentiable arguments replaced by their tangents at once."""
    lines, replaced = [], {}
    for a in targets(r):
        n = f"{a.name}_t"
        if a.type.is_list:
            lines.append(f"  const std::vector<Tensor> {n} = tangents_or_zeros({a.name});")
        elif r.schema.is_inplace and a.name == "self":
            lines.append(f"  Tensor {n} = tangent_or_zeros({a.name}).clone();")
        else:
            lines.append(f"  const Tensor {n} = tangent_or_zeros({a.name});")
        replaced[a.name] = n
    return lines, call(r, replaced)


def multilinear(r):
    """The product rule: one term for each argument that has a tangent."""
    lines = ["  Tensor total;"]
    for a in targets(r):
        term = call(r, {a.name: "t"})
        lines.append(
            f"  if (const Tensor t = tangent_of({a.name}); t.defined()) total = add_tangents(total, {term});"
        )
    return lines, "total"


def elementwise(r):
    """The backward formulas, conjugated: each element's derivative times the tangent."""
    lines = ["  Tensor total;"]
    for a in targets(r):
        lines.append(
            f"  if (const Tensor t = tangent_of({a.name}); t.defined()) {{\n"
            f"    [[maybe_unused]] const Tensor grad = fit_tangent(t, result).conj();\n"
            f"    total = add_tangents(total, Tensor({r.grad[a.name]}).conj());\n  }}"
        )
    return lines, "total"


def tangent_arguments(r, formulas):
    lines = []
    used = set().union(*(words(f) for f in formulas.values()))
    for a in r.schema.tensors:
        n = f"{a.name}_t"
        if n not in used:
            continue
        if a.type.is_list:
            lines.append(f"  const std::vector<Tensor> {n} = tangents_or_zeros({a.name});")
        else:
            lines.append(f"  const Tensor {n} = tangent_or_zeros({a.name});")
    return lines


def function(r):
    """`forward_<ident>(args..., results..., set)`, called after the values are there."""
    s = r.schema
    rule = rule_of(r)
    params = ", ".join(
        f"[[maybe_unused]] {'const Tensor&' if a.is_written else cpp_type(a)} {a.name}"
        for a in s.arguments
    )
    head = (
        f"[[gnu::cold]] void forward_{r.ident}({params}{result_parameters(s)}, bool is_inplace) {{\n"
        "  const ForwardMode off(false);  // rules read values; at one level tangents have none\n"
        "  const auto put = [&](const Tensor& to, const Tensor& tangent) {\n"
        "    is_inplace ? set_tangent_inplace(to, tangent) : set_tangent(to, tangent);\n  };\n"
    )
    if rule is None:
        reason = r.data.get("no_forward", "it has no rule yet")
        body = f'  (void)put;\n  fail_no_forward("{s.name}", "{reason}");\n'
        return (
            head.replace("const Tensor& result", "[[maybe_unused]] const Tensor& result").replace(
                "bool is_inplace", "[[maybe_unused]] bool is_inplace"
            )
            + body
            + "}\n"
        )
    if rule == "zeros":
        body = "".join(f"  put({n}, taeda::zeros_like({n}));\n" for n in result_names(s)[:1])
        return head + body + "}\n"
    if isinstance(rule, dict):
        lines = tangent_arguments(r, rule)
        lines += [f"  put({n}, {f});" for n, f in rule.items()]
        marks = head
        for n in result_names(s):
            marks = marks.replace(f"const Tensor& {n},", f"[[maybe_unused]] const Tensor& {n},")
        return marks + "\n".join(lines) + "\n}\n"
    lines, value = {"linear": linear, "multilinear": multilinear, "elementwise": elementwise}[rule](
        r
    )
    if s.returns[0].type.is_list:
        lines.append(f"  (void)put;\n  (void)is_inplace;\n  set_tangent(result, {value});")
    elif len(s.returns) > 1:
        lines.append(f"  put(result0, std::get<0>({value}));")
    else:
        lines.append(f"  put(result, {value});")
    return head + "\n".join(lines) + "\n}\n"


def condition(r):
    return f"any_tangent({', '.join(a.name for a in targets(r))})"


def after(r, results, kept=(), is_inplace=False):
    """The call placed behind an autograd kernel's values; `kept` arguments have copies."""
    given = ", ".join(f"{a.name}_before" if a.name in kept else a.name for a in r.schema.arguments)
    return f"forward_{r.ident}({given}, {', '.join(results)}, {'true' if is_inplace else 'false'});"
