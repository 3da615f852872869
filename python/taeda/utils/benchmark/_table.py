"""Compare: measurements side by side, a row per statement and a column per description."""

import enum
import math

from taeda.utils.benchmark._measurement import (
    Measurement,
    ordered_unique,
    select_unit,
    trim_sigfig,
    unit_to_english,
)

_BOLD, _END = "\033[1m", "\033[0m"
_BEST, _GOOD, _BAD, _VERY_BAD = "\033[92m", "\033[34m", "\033[2m\033[91m", "\033[31m"


class Colorize(enum.Enum):
    """Within what the best time is found."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


def _colored(text, value, best):
    """Green near the best time, red from twice of it on."""
    if value <= best * 1.01 or value <= best + 100e-9:
        return _BEST + _BOLD + text + _END * 2
    if value <= best * 1.1:
        return _GOOD + _BOLD + text + _END * 2
    if value >= best * 5:
        return _VERY_BAD + _BOLD + text + _END * 2
    if value >= best * 2:
        return _BAD + text + _END * 2
    return text


class _Column:
    """How the numbers of a column are written: all with as many places."""

    def __init__(self, results, scale, is_trimmed, shows_spread):
        known = [m for m in results if m is not None]
        self._scale, self._is_trimmed = scale, is_trimmed
        self._shows_spread = shows_spread and any(m.has_warnings for m in known)
        digits = [math.ceil(math.log10(m.median / scale)) for m in known]
        places = 1
        if is_trimmed:
            places = min(max(m.significant_figures - d, 0) for m, d in zip(known, digits))
        width = max(digits) + places + (1 if places else 0)
        self._form = f"{{:>{width}.{places}f}}{{:>{7 if self._shows_spread else 0}}}"

    def text(self, m):
        if m is None:
            return " " * len(self._form.format(1, ""))
        value = m.median / self._scale
        if self._is_trimmed:
            value = trim_sigfig(value, m.significant_figures)
        spread = ""
        if self._shows_spread and m.has_warnings:
            spread = f" (! {m.iqr / m.median * 100:.0f}%)"
        return self._form.format(value, spread)


class _Table:
    """The measurements of one label."""

    def __init__(self, results, colorize, is_trimmed, shows_spread):
        self._results, self._colorize, self._shows_spread = results, colorize, shows_spread
        self._unit, self._scale = select_unit(min(m.median for m in results))
        keys = ordered_unique((m.num_threads, m.env, m.as_row_name) for m in results)
        self._row_keys = sorted(keys, key=lambda key: key[:2])
        self._column_keys = ordered_unique(m.description for m in results)
        found = {(m.num_threads, m.env, m.as_row_name, m.description): m for m in results}
        self._rows = [
            [found.get((*key, description)) for description in self._column_keys]
            for key in self._row_keys
        ]
        self._columns = [
            _Column(column, self._scale, is_trimmed, shows_spread) for column in zip(*self._rows)
        ]

    def _row_name(self, place):
        threads, env, name = self._row_keys[place]
        envs = {m.env for m in self._results}
        if len(envs) == 1:
            return f"      {name}"
        is_shown = place == 0 or self._row_keys[place - 1][:2] != (threads, env)
        shown = f"({env})" if is_shown else ""
        return "  " + shown.ljust(max(map(len, envs)) + 4) + name

    def _best(self, row, column):
        """The best time beside which a cell is colored."""
        if self._colorize is Colorize.ROWWISE:
            beside = self._rows[row]
        else:
            threads = self._row_keys[row][0]
            same = [i for i, key in enumerate(self._row_keys) if key[0] == threads]
            beside = [self._rows[i][column] for i in same]
        return min(m.median for m in beside if m is not None)

    def _line(self, row, texts, widths):
        cells = [texts[0].ljust(widths[0])]
        for column, (text, width) in enumerate(zip(texts[1:], widths[1:])):
            text, m = text.center(width), self._rows[row][column]
            if self._colorize is not Colorize.NONE and m is not None:
                text = _colored(text, m.median, self._best(row, column))
            cells.append(text)
        return "  |  ".join(cells)

    def text(self):
        heads = ["", *(key or "" for key in self._column_keys)]
        texts = [
            [self._row_name(i), *(c.text(m) for c, m in zip(self._columns, row))]
            for i, row in enumerate(self._rows)
        ]
        widths = [max(map(len, cells)) for cells in zip(heads, *texts)]
        lines = ["  |  ".join(head.center(w) for head, w in zip(heads, widths))]
        whole = len(lines[0])
        for i, row in enumerate(texts):
            threads = self._row_keys[i][0]
            if i == 0 or self._row_keys[i - 1][0] != threads:
                lines.append(f"{threads} threads: ".ljust(whole, "-"))
            lines.append(self._line(i, row, widths))
        title = f" {self._results[0].label or ''} ".center(whole - 2, "-")
        lines = [f"[{title}]", *lines, ""]
        lines.append(f"Times are in {unit_to_english(self._unit)}s ({self._unit}).")
        if self._shows_spread and any(m.has_warnings for m in self._results):
            lines.append(
                "(! XX%) Measurement has high variance, where XX is the IQR / median * 100."
            )
        return "\n".join(lines) + "\n"


class Compare:
    """A table of measurements per label; `str` gives it, `print` prints it."""

    def __init__(self, results):
        self._results = []
        self.extend_results(results)
        self._is_trimmed = self._shows_spread = False
        self._colorize = Colorize.NONE

    def extend_results(self, results):
        """Adds measurements."""
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(
                    f"Expected an instance of `Measurement`, got {type(result)} instead."
                )
        self._results.extend(results)

    def trim_significant_figures(self):
        """Shows the figures that the spread leaves, and no more."""
        self._is_trimmed = True

    def colorize(self, rowwise=False):
        """Colors times by how far they are from the best of their column, or of their row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self):
        """Shows the spread of times where it is wide."""
        self._shows_spread = True

    def __str__(self):
        groups = {}
        for result in Measurement.merge(self._results):
            groups.setdefault(result.label, []).append(result)
        return "\n".join(
            _Table(group, self._colorize, self._is_trimmed, self._shows_spread).text()
            for group in groups.values()
        )

    def print(self):
        """Prints the tables."""
        print(str(self))
