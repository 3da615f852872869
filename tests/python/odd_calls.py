"""Odd calls of every public callable, in processes of their own: none may crash.

`python tests/python/odd_calls.py --seed 7 --calls 100000` draws calls with odd arguments, runs them
and prints the findings: a call that ends its process (a signal), that takes longer than its time,
that fails a check of Taeda's own state ("internal check failed") or raises SystemError or no
Exception at all. Any other exception is a fine answer. A finding is a line that
`odd_calls.py --line 'LINE'` runs again; call i of a seed is the same whatever ran before it.
"""

import argparse
import collections
import contextlib
import os
import sys

from odd_children import CHILD_CALLS, run_calls, run_line
from odd_lines import OddCalls

# Findings alike (the same callable and the same kind of end) of which the first are printed.
PRINTED_ALIKE = 2


def print_finding(found, first, seconds):
    """The line, what became of it, and the calls before it if alone it does no harm."""
    print(f"{found.text}\n    call {found.number}, {found.reason}", flush=True)
    if run_line(found.text, seconds) is None:
        begin = first + (found.number - first) // CHILD_CALLS * CHILD_CALLS
        print(f"    only behind others: --first {begin} --calls {found.number + 1 - begin}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first call")
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--only", help="a part of the name of what is called")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=60, help="the time that a call may take")
    parser.add_argument("--line", help="runs this line only")
    parser.add_argument("--print", action="store_true", help="prints the calls instead")
    options = parser.parse_args()
    if options.line is not None:
        found = run_line(options.line, options.seconds)
        print(found.reason if found else "no finding")
        return int(found is not None)
    calls = OddCalls(options.seed, options.only)
    if options.print:
        for number in range(options.first, options.first + options.calls):
            print(calls[number][0])
        return 0
    alike = collections.Counter()
    for found in run_calls(calls, options.first, options.calls, options.jobs, options.seconds):
        alike[found.kind()] += 1
        if alike[found.kind()] <= PRINTED_ALIKE:
            print_finding(found, options.first, options.seconds)
    total = f"{alike.total()} findings of {len(alike)} kinds"
    print(f"{options.calls} calls of {len(calls.callables)} callables, {total}")
    return int(bool(alike))


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
