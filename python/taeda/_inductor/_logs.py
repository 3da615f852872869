"""Prints stages of the compiler, as the logs that are wanted say."""

import sys


def show(compiled, names, file=None):
    """Prints stages of a program that was compiled."""
    from . import _report

    reports = compiled.report()
    file = file or sys.stderr
    parts = _report.plan_names(compiled, len(reports))

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
