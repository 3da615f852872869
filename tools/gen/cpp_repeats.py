"""Operators over lists: what the CPU runs at once, and who above it decides whether it may."""

from cpp_dense import head, lists, over_lists_head, pointwise_inputs, row
from cpp_ops import cpp_default, names


def cpu(r):
    """The CPU's form: all rows at once where that is possible."""
    s, base = r.schema, r.repeated
    operands = {a.name for a in pointwise_inputs(base)}
    lines = [f"  ListCall call({base.bodies[0][0]}, ks, {lists(s)[0].name}.size());"]
    for i, target in enumerate(base.schema.arguments):
        is_given = i < len(s.arguments)
        value = s.arguments[i].name if is_given else f"Scalar({cpp_default(target)})"
        lines.append(f"  call.{'operand' if target.name in operands else 'uniform'}({value});")
    run = "call.write" if s.is_inplace else "return call.results"
    return over_lists_head(r) + "\n".join(lines) + f"\n  {run}({row(r)});\n}}\n"


def tracking(r):
    """Above the devices: rows are seen one by one where something there wants to see them."""
    s = r.schema
    # What has no gradient is recorded by no graph.
    seen = [] if "no_grad" in r.data else [a.name for a in s.tensors]
    tensors = ", ".join(["ks", *seen])
    written = [a.name for a in s.arguments if a.is_written]
    keys = "ks & (KeySet::backends() | KeySet(Key::Dense))"
    call = f"ops::{s.ident}.redispatch({keys}, {names(s)});"
    text = (
        f"{head(s)} {{\n"
        f"  if (autograd::is_watched({tensors})) return dense::{s.ident}(ks, {names(s)});\n"
    )
    if not written:
        return f"{text}  BelowADInplaceOrView guard;\n  return {call}\n}}\n\n"
    conditions = r.data.get("written_if", {})
    lines = [
        f"  {f'if ({conditions[name]}) ' if name in conditions else ''}autograd::{{}}({name});\n"
        for name in written
    ]
    before = "".join(line.format("before_writes") for line in lines)
    after = "".join(line.format("count_writes") for line in lines)
    return f"{text}{before}  {{\n    BelowADInplaceOrView guard;\n    {call}\n  }}\n{after}}}\n\n"


def prototypes(records):
    """The forms one by one, which the code above the devices calls."""
    lines = [f"{head(r.schema)};" for r in records if r.data.get("at_once")]
    if not lines:
        return ""
    return "namespace taeda::dense {\n" + "\n".join(lines) + "\n}  // namespace taeda::dense\n\n"
