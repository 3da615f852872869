"""A pytest plug-in: prints what `./run test` has to say just above pytest's total line."""

import os
import time

_START = time.monotonic()


def pytest_terminal_summary(terminalreporter) -> None:
    for note in os.environ.get("TAEDA_SUMMARY_NOTES", "").splitlines():
        terminalreporter.write_line(note, red=True)
    spent_and_limit = os.environ.get("TAEDA_SUMMARY_LIMIT", "").split()
    if spent_and_limit:
        spent, limit = map(float, spent_and_limit)
        seconds = spent + time.monotonic() - _START
        verdict = "over" if seconds > limit else "within"
        terminalreporter.write_line(
            f"checks and tests took {seconds:.0f} s, {verdict} the limit of {limit:.0f} s"
        )
