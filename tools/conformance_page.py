#!/usr/bin/env python3
"""Writes docs/conformance.md: which of PyTorch's own tests pass, and why each other one does not.

  python tools/conformance_page.py results.json ...

A results file is a list of groups, {"id": name, "passed": n, "total": n,
"failures": {test: error}}.
tests/conformance/reasons.tsv has a line `group, test, reason` for each test that does not pass. A
test without a reason, or a reason of a test that passes, is an error: nothing is written.
"""

import json
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REASONS = ROOT / "tests/conformance/reasons.tsv"
PAGE = ROOT / "docs/conformance.md"

# How a reason begins, and the column that counts it. A test that needs what is still to come is
# left out of the share.
KINDS = {
    "missing operator": "operators to come",
    "later area": "areas to come",
    "private name": "private names",
    "difference by choice": "by choice",
    "open": "open",
}
TO_COME = ("missing operator", "later area")

HEAD = """# PyTorch's own tests

PyTorch's test files of version 2.13, unchanged, with `import torch` giving Taeda. A test counts if
it passes with PyTorch itself. This page is written by `tools/conformance_page.py`; the reasons are
in `tests/conformance/reasons.tsv`.

The share leaves out the tests that need an operator or an area that is still to come. "Private
names" are names of PyTorch's inner modules that Taeda has nothing behind.
"""


def read_reasons(text):
    """{(group, test): reason}"""
    rows = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    if bad := [row for row in rows if len(row) != 3 or kind_of(row[2]) is None]:
        raise SystemExit(f"not group, test and a reason of a known kind: {bad[0]}")
    return {(group, test): reason for group, test, reason in rows}


def kind_of(reason):
    return next((kind for kind in KINDS if reason.startswith(kind + ": ")), None)


def check(groups, reasons):
    """Complains about tests without a reason, and reasons without a test."""
    failing = {(g["id"], test) for g in groups for test in g["failures"]}
    known = {g["id"] for g in groups}
    problems = [f"no reason: {group} {test}" for group, test in sorted(failing - set(reasons))]
    problems += [
        f"passes, or is no test: {group} {test}"
        for group, test in sorted(set(reasons) - failing)
        if group in known
    ]
    if problems:
        raise SystemExit("\n".join(problems))


def row(group, reasons):
    kinds = Counter(kind_of(reasons[group["id"], test]) for test in group["failures"])
    needed = group["total"] - sum(kinds[kind] for kind in TO_COME)
    share = f"{100 * group['passed'] / needed:.0f} %" if needed else "-"
    counts = " | ".join(str(kinds[kind]) for kind in KINDS)
    return f"| {group['id']} | {group['total']} | {group['passed']} | {counts} | {share} |"


def page(groups, reasons):
    columns = " | ".join(KINDS.values())
    lines = [HEAD, f"| group | tests | pass | {columns} | share |"]
    lines += ["|" + " --- |" * (len(KINDS) + 4)]
    lines += [row(group, reasons) for group in groups]
    for group in groups:
        if not group["failures"]:
            continue
        lines += ["", f"## {group['id']}", "", "| test | reason |", "| --- | --- |"]
        lines += [
            f"| `{test}` | {reasons[group['id'], test].replace('|', '&#124;')} |"
            for test in sorted(group["failures"])
        ]
    return "\n".join(lines) + "\n"


def main(paths):
    groups = [group for path in paths for group in json.loads(Path(path).read_text())]
    groups.sort(key=lambda group: group["id"])
    reasons = read_reasons(REASONS.read_text())
    check(groups, reasons)
    PAGE.write_text(page(groups, reasons))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
