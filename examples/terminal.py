"""Progress bar and table for the examples; plain lines where the output is not a terminal."""

import sys
import time


class Progress:
    """Shows how far a loop of `total` steps has come.

    On a terminal one line is redrawn ten times a second; elsewhere a line is printed at each tenth.
    """

    def __init__(self, total, label):
        self.total, self.label = total, label
        self.is_terminal = sys.stdout.isatty()
        self.start = self.drawn = time.perf_counter()
        self.tenths = 0

    def update(self, done, note=""):
        now = time.perf_counter()
        elapsed = now - self.start
        left = elapsed / done * (self.total - done)
        is_last = done == self.total
        if self.is_terminal:
            if now - self.drawn < 0.1 and not is_last:
                return
            self.drawn = now
            filled = 30 * done // self.total
            bar = "━" * filled + "╌" * (30 - filled)
            text = f"{self.label} {bar} {done}/{self.total}  {note}  {left:.0f} s left"
            sys.stdout.write("\r\x1b[K" + text + ("\n" if is_last else ""))
            sys.stdout.flush()
        elif 10 * done // self.total > self.tenths:
            self.tenths = 10 * done // self.total
            print(f"{self.label} {10 * self.tenths:3d}%  {note}  {elapsed:.0f} s", flush=True)


def print_table(headings, rows):
    """Prints rows under headings, each column right-aligned to its widest cell."""
    columns = zip(headings, *rows, strict=True)
    widths = [max(len(str(cell)) for cell in column) for column in columns]

    def line(cells):
        return "  ".join(str(cell).rjust(width) for cell, width in zip(cells, widths, strict=True))

    print(line(headings))
    print("  ".join("-" * width for width in widths))
    for row in rows:
        print(line(row))
