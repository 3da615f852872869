"""Decompositions: which records have one, and those that follow from a record's kind.

A formula is a TAEDA_DECOMPOSITION(<ident>, ...) in taeda/ops/<family>/decompositions.cpp; an explicit
operator is a function of others already.
"""

import re
from functools import cache
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "taeda/ops"
FORMULA = re.compile(r"^TAEDA_DECOMPOSITION\((\w+),", re.MULTILINE)


@cache
def formulas():
    """The operators with a formula, by C++ identifier."""
    texts = [path.read_text() for path in sorted(SOURCES.glob("*/decompositions.cpp"))]
    return {ident for text in texts for ident in FORMULA.findall(text)}


def is_core(r):
    return "core" in r.data.get("tags", [])


def is_automatic(r):
    """Whether the operator's own function of others is its decomposition."""
    is_refused = is_core(r) or r.schema.is_inplace or "no_decomposition" in r.data
    return r.kind == "explicit" and not is_refused


def cell(r):
    """How the operator comes apart, in a word; the reason why it does not; or '' for a hole."""
    if is_core(r):
        return "core"
    if r.kind == "composite":
        return "composite"
    if r.ident in formulas():
        return "formula"
    if r.schema.is_inplace:
        return "in place: functionalization replaces it"
    return "explicit" if is_automatic(r) else r.data.get("no_decomposition", "")


def code(records):
    """One Decomposition an explicit operator, of its own implementation."""
    lines = [
        f"const Decomposition decomposition_of_{r.ident}(\n"
        f"    ops::{r.ident}, &impl::{r.ident}, Decomposition::Origin::Explicit);"
        for r in records
        if is_automatic(r)
    ]
    return (
        "namespace taeda {\nnamespace {\n\n" + "\n".join(lines) + "\n\n}\n}  // namespace taeda\n"
    )
