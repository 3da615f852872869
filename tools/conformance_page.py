#!/usr/bin/env python3
"""Writes docs/conformance.md: which of PyTorch's own tests pass, and why each other one does not.

  python tools/conformance_page.py results.json ... [--renamed results.json]

A results file is a list of groups, {"id": name, "passed": n, "total": n,
"failures": {test: error}}. That behind --renamed is of a run of those tests that Taeda gives other
names, by these names: all of them must pass.
tests/conformance/reasons.tsv has a line `group, test, reason` for each test that does not pass. A
test without a reason, or a reason of a test that passes, is an error: nothing is written.
"""

import argparse
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
    "another name": "under another name",
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
names" are names of PyTorch's inner modules that Taeda has nothing behind. Some tests are made by
loops and named after the package whose modules they try: with Taeda they have another name, and
pass "under another name"; the share counts them.
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


def check_renamed(renamed, reasons):
    """Complains about tests that are said to pass under another name and did not."""
    said = Counter(group for (group, _), why in reasons.items() if kind_of(why) == "another name")
    passed = {group["id"]: group["passed"] for group in renamed if not group["failures"]}
    if problems := [g for g, count in said.items() if passed.get(g) != count]:
        raise SystemExit(f"not all of the tests under another name pass: {problems[0]}")


def row(group, reasons):
    kinds = Counter(kind_of(reasons[group["id"], test]) for test in group["failures"])
    needed = group["total"] - sum(kinds[kind] for kind in TO_COME)
    passed = group["passed"] + kinds["another name"]
    share = f"{100 * passed / needed:.0f} %" if needed else "-"
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


def read_groups(paths):
    groups = [group for path in paths for group in json.loads(Path(path).read_text())]
    return sorted(groups, key=lambda group: group["id"])


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", nargs="+")
    parser.add_argument("--renamed", action="append", default=[])
    options = parser.parse_args(arguments)
    groups, reasons = read_groups(options.results), read_reasons(REASONS.read_text())
    check(groups, reasons)
    check_renamed(read_groups(options.renamed), reasons)
    PAGE.write_text(page(groups, reasons))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
