"""TAEDA_LOGS: which stages of the compiler are printed."""

import os
import sys

# By name: what it prints for a compiled program, from its reports.
NAMES = ("aot", "fusion", "code", "memory", "timing")


def wanted():
    """The names in TAEDA_LOGS, in the order of the stages; "all" for each."""
    names = [name.strip() for name in os.environ.get("TAEDA_LOGS", "").split(",") if name.strip()]
    unknown = sorted({name for name in names if name != "all"} - set(NAMES))
    if unknown:
        raise ValueError(
            f"TAEDA_LOGS has no stage {unknown[0]!r}; there are {', '.join(NAMES)}, and all"
        )
    return [name for name in NAMES if name in names or "all" in names]


def show(compiled, names, file=None):
    """Prints stages of a program that was compiled."""
    from . import _report

    reports = compiled.report()
    file = file or sys.stderr
    parts = ["inference"] if len(reports) == 1 else ["forward", "backward"]

    def print_each(name, texts):
        for part, text in zip(parts, texts, strict=True):
            print(f"[{name}] {part}\n{text}", file=file, end="")

    if "aot" in names:
        text = compiled._plan.partition() or "no input needs a gradient: one graph\n"
        print(f"[aot]\n{text}", file=file, end="")
    if "fusion" in names:
        print_each("fusion", map(_report.fusion_text, reports))
    if "code" in names:
        print_each("code", compiled._plan.sources())
    if "memory" in names:
        print_each("memory", map(_report.memory_text, reports))
    if "timing" in names:
        print(f"[timing]\n{_report.timing_text(reports)}", file=file, end="")
