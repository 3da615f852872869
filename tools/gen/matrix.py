"""The operator x artefact matrix: what the generator made of each record, and why something is missing."""

import cpp_batch
import cpp_forward
import cpp_lowering
import decompositions
import samples

COLUMNS = (
    "function",
    "method",
    "inplace",
    "out",
    "meta",
    "gradient",
    "forward",
    "batching",
    "decomposition",
    "compiled",
    "printed",
    "python",
    "samples",
    "doc",
)

# How an operator comes apart and how the compiler takes it, said in the cell itself.
WORDS = ("core", "formula", "explicit", "composite", *cpp_lowering.CELLS)


FALLBACK = "fallback: "  # and the reason


def gradient(r):
    if "refuses_grad" in r.data:
        return "refused, as in PyTorch"
    return True if r.grad or r.kind == "composite" else r.data.get("no_grad", "")


def forward(r):
    if r.kind == "composite":
        return True
    if not r.grad:
        return r.data.get("no_grad", "")
    return cpp_forward.rule_of(r) is not None or r.data.get("no_forward", "")


DISPATCHER_ONLY = "reached by name, from graphs"


def function_reason(r):
    if not r.variants:
        return DISPATCHER_ONLY
    return "in place only" if r.schema.is_inplace else "method only"


def cells(r):
    """Column -> True, a word of WORDS, the reason why the artefact is missing, or '' for a hole."""
    s = r.schema
    has_self = any(a.name == "self" for a in s.arguments)
    writes = s.is_inplace
    row = {
        "function": "function" in r.variants or function_reason(r),
        "method": (writes and bool(r.variants) and not s.arguments[0].type.is_list)
        or ("method" in r.variants and has_self)
        or ("no self argument" if not has_self else "function only, as in PyTorch"),
        "inplace": writes or bool(r.inplace) or "PyTorch has none",
        "out": bool(r.out) or "PyTorch has none, or the result is a view",
        "meta": True
        if r.kind != "kernel" or r.data.get("meta")
        else "the result's size depends on values",
        "gradient": gradient(r),
        "forward": forward(r),
        "batching": r.kind == "composite"
        or cpp_batch.rule_of(r) is not None
        or r.data.get("no_batch", ""),
        "decomposition": decompositions.cell(r),
        "compiled": cpp_lowering.cell(r),
        "printed": True if r.kind == "pointwise" else "no pointwise body",
        "python": bool(r.variants or "offered" in r.data.get("python", {})) or DISPATCHER_ONLY,
        "samples": samples.cell(r),
        "doc": True if r.data.get("doc", "").strip() else "",
    }
    return row


def holes(records):
    return [(r.key, c) for r in records for c, v in cells(r).items() if not v]


def markdown(records):
    notes = {}
    lines = [
        "# Operators and what is made of each",
        "",
        "Written by the generator from `taeda/ops/<family>/records.toml`; a letter stands for the reason below the table.",
        "",
        "| operator | family | kind | " + " | ".join(COLUMNS) + " |",
        "|" + " --- |" * (len(COLUMNS) + 3),
    ]
    for r in records:
        row = []
        for c, v in cells(r).items():
            if v is True:
                row.append("yes")
            elif v in WORDS:
                row.append(v)
            elif v.startswith(FALLBACK):
                reason = v.removeprefix(FALLBACK)
                row.append(f"fallback {notes.setdefault(reason, f'n{len(notes) + 1}')}")
            else:
                row.append(notes.setdefault(v or "HOLE", f"n{len(notes) + 1}") if v else "HOLE")
        lines.append(f"| {r.key} | {r.family} | {r.kind} | " + " | ".join(row) + " |")
    lines.append("")
    lines += [f"- {label}: {reason}" for reason, label in notes.items()]
    return "\n".join(lines) + "\n"
