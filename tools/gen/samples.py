"""Sample calls: those that records give, those that follow from a pointwise schema, and their table."""

from cpp_ops import quoted

# Shapes of the first, second and third tensor of a derived call: equal, and broadcast.
SHAPES = (("2,3", "2,3", "2,3", "2,3"), ("3", "2,1", "2,3", "3"))
MASKS = ("condition", "mask")
# Numbers for arguments that have no default.
NUMBER = "1.5"


def derived(r):
    """Two calls of a pointwise record."""
    return [_call(r, shapes) for shapes in SHAPES]


def _call(r, shapes):
    parts, shapes = [], iter(shapes)
    for a in r.schema.arguments:
        if a.type.is_tensor:
            value = f"{'m' if a.name in MASKS else 't'}({next(shapes)})"
        elif a.default is not None:
            continue
        else:
            value = {"bool": "false", "int": "2"}.get(a.type.base, NUMBER)
        parts.append(f"{a.name}={value}" if a.is_kwarg_only else value)
    return ", ".join(parts)


def calls(r):
    """The record's sample calls; none where it says why."""
    if "samples" in r.data:
        return r.data["samples"]
    return derived(r) if r.kind == "pointwise" else []


def accept(r):
    """The dtype classes that the calls are made in; integers become floats where the record says."""
    given = r.data.get("accept", "bif" if r.kind == "pointwise" else "bifc")
    return "bi" + given if r.data.get("dtype") == "float" and "i" not in given else given


def cell(r):
    """For the matrix: made, the reason why not, or a hole."""
    return bool(calls(r)) or r.data.get("no_samples", "")


def table(records):
    text = "namespace taeda {\nnamespace {\n\n"
    rows = []
    for r in records:
        if not (found := calls(r)):
            continue
        text += f"constexpr const char* k{r.ident}[] = {{{', '.join(quoted(c) for c in found)}}};\n"
        rows.append(f'    {{"{r.key}", "{accept(r)}", k{r.ident}}}')
    text += "\n}  // namespace\n\nSpan<OperatorSamples> operator_samples() {\n"
    text += "  static const OperatorSamples all[] = {\n" + ",\n".join(rows)
    return text + "};\n  return all;\n}\n\n}  // namespace taeda\n"
