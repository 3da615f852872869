"""What was measured, and the times that came out."""

import math
import statistics
import textwrap
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

import taeda

_MOST_FIGURES = 4
_LEAST_INTERVAL = 25e-9  # seconds
_WIDE, _VERY_WIDE = 0.1, 0.25  # of the median, between the quartiles
_UNITS = (("ns", 1e-9, "nanosecond"), ("us", 1e-6, "microsecond"), ("ms", 1e-3, "millisecond"))


@dataclass(repr=False, frozen=True)
class TaskSpec:
    """A statement and what belongs to it; measurements with equal ones are of the same thing."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self):
        """A heading: the label, or the statement, with the label below it."""
        if self.label is not None or "\n" not in self.stmt:
            name = self.stmt if self.label is None else self.label
            return f"{name}: {self.sub_label}" if self.sub_label else name
        below = f" ({self.sub_label})" if self.sub_label else ""
        return f"stmt:{below}\n{textwrap.indent(self.stmt, '  ')}"

    def setup_str(self):
        """The setup as a line or lines; empty where there is none."""
        if not self.setup or self.setup == "pass":
            return ""
        if "\n" in self.setup:
            return f"setup:\n{textwrap.indent(self.setup, '  ')}"
        return f"setup: {self.setup}"

    def summarize(self):
        """Title, description and setup."""
        parts = [part for part in (self.title, self.description, self.setup_str()) if part]
        return "\n".join(f"{part}\n" if "\n" in part else part for part in parts)


_SPEC_FIELDS = frozenset(field.name for field in fields(TaskSpec))


def _quantile(values, q):
    """Of sorted values, between two of them where it falls there."""
    place = (len(values) - 1) * q
    low = math.floor(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)


@dataclass(repr=False)
class Measurement:
    """Times of a statement: each of `raw_times` is of `number_per_run` runs, in seconds."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name):
        if name in _SPEC_FIELDS:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @property
    def times(self):
        """Seconds per run."""
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def median(self):
        return _quantile(sorted(self.times), 0.5)

    @property
    def mean(self):
        return statistics.fmean(self.times)

    @property
    def iqr(self):
        """The distance between the quartiles."""
        ordered = sorted(self.times)
        return _quantile(ordered, 0.75) - _quantile(ordered, 0.25)

    @property
    def significant_figures(self):
        """How many figures of the median the spread between the quartiles leaves, 1 to 4."""
        ordered = sorted(self.times)
        middle = ordered[len(ordered) // 4 : math.ceil(3 * len(ordered) / 4)]
        deviation = statistics.pstdev(middle) if middle else 0.0
        interval = max(1.645 * deviation / math.sqrt(max(len(middle), 1)), _LEAST_INTERVAL)
        figures = math.floor(math.log10(self.median / interval))
        return min(max(figures, 1), _MOST_FIGURES)

    @property
    def has_warnings(self):
        """Whether the times spread more than they should."""
        return not self.meets_confidence()

    def meets_confidence(self, threshold=_WIDE):
        """Whether the quartiles are nearer to each other than this share of the median."""
        return self.iqr / self.median < threshold

    @property
    def title(self):
        return self.task_spec.title

    @property
    def env(self):
        return "Unspecified env" if self.task_spec.env is None else self.task_spec.env

    @property
    def as_row_name(self):
        return self.sub_label or self.stmt or "[Unknown]"

    def _warning(self):
        if not self.has_warnings:
            return []
        cause = (
            "This could indicate system fluctuation."
            if self.meets_confidence(_VERY_WIDE)
            else "This suggests significant environmental influence."
        )
        share = self.iqr / self.median * 100
        return [
            f"  WARNING: Interquartile range is {share:.1f}% of the median measurement.",
            f"           {cause}",
        ]

    def __repr__(self):
        count, ordered = len(self.raw_times), sorted(self.times)
        unit, scale = select_unit(self.median)
        lines = [object.__repr__(self), self.task_spec.summarize()]
        lines.append(f"  {'Median: ' if count > 1 else ''}{self.median / scale:.2f} {unit}")
        if count >= 4:
            low, high = (_quantile(ordered, q) / scale for q in (0.25, 0.75))
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({low:.2f} to {high:.2f})")
        runs = f"{self.number_per_run} runs {'per measurement,' if count > 1 else ','}"
        threads = f"{self.num_threads} thread{'s' if self.num_threads > 1 else ''}"
        lines.append(f"  {count} measurement{'s' if count > 1 else ''}, {runs} {threads}")
        return "\n".join(lines + self._warning())

    @staticmethod
    def merge(measurements):
        """One measurement per task, with the times of all that were of it."""
        groups = {}
        for measurement in measurements:
            groups.setdefault(measurement.task_spec, []).extend(measurement.times)
        return [Measurement(1, times, spec) for spec, times in groups.items()]


def select_unit(t):
    """(name, seconds) of the unit in which a time has one to three figures before the point."""
    power = math.log10(t) // 3
    for place, (name, scale, _) in zip((-3, -2, -1), _UNITS):
        if power == place:
            return name, scale
    return "s", 1


def unit_to_english(u):
    """A unit in a word."""
    return {name: word for name, _, word in _UNITS}.get(u, "second")


def trim_sigfig(x, n):
    """`x` with `n` significant figures."""
    if n != int(n):
        raise AssertionError("Number of significant figures must be an integer")
    scale = 10 ** (math.ceil(math.log10(abs(x))) - n)
    return round(x / scale) * scale


def ordered_unique(elements):
    """Each element once, in the order in which they come first."""
    return list(dict.fromkeys(elements))


@contextmanager
def set_torch_threads(n):
    """Operators use `n` threads inside."""
    before = taeda.get_num_threads()
    taeda.set_num_threads(n)
    try:
        yield
    finally:
        taeda.set_num_threads(before)
