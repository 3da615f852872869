"""Numbers of instructions per function, as callgrind counts them."""

import collections
import dataclasses
import re
from typing import NamedTuple

from taeda import _tensor_str
from taeda.utils.benchmark._measurement import TaskSpec

_SHOWN_ROWS = 18
# Lookups of names in dicts differ from run to run.
_NOISY = "dictobject.c:lookdict_unicode"
_PREFIXES = ((r"^.+/(Python|Objects)/", r"\1/"), (r"\s\[.+\]$", ""))


class FunctionCount(NamedTuple):
    count: int
    function: str


@dataclasses.dataclass(repr=False, eq=False, frozen=True)
class FunctionCounts:
    """Counts of functions, the largest first; of their callees too where `inclusive`.

    Sums and differences join two of them by the names of functions.
    """

    _data: tuple[FunctionCount, ...]
    inclusive: bool
    truncate_rows: bool = True
    _linewidth: int | None = None

    def __iter__(self):
        return iter(self._data)

    def __len__(self):
        return len(self._data)

    def __getitem__(self, item):
        found = self._data[item]
        if isinstance(item, slice):
            return FunctionCounts(found, self.inclusive, truncate_rows=False)
        return found

    def __repr__(self):
        width = max((len(str(count)) + (count < 0) for count, _ in self), default=0)
        room = max((self._linewidth or _tensor_str.PRINT_OPTS.linewidth) - width - 4, 40)
        lines = [f"  {count:>{width}}  {_shortened(name, room)}" for count, name in self]
        if self.truncate_rows and len(lines) > _SHOWN_ROWS:
            half = _SHOWN_ROWS // 2
            lines = [*lines[:half], "...".rjust(width + 2), *lines[-half:]]
        if not self.inclusive:
            lines += ["", f"Total: {self.sum()}"]
        return "\n".join([object.__repr__(self), *lines])

    def __add__(self, other):
        return self._merged(other, 1)

    def __sub__(self, other):
        return self._merged(other, -1)

    def __mul__(self, factor):
        return _sorted({name: int(count * factor) for count, name in self}, self.inclusive)

    def transform(self, map_fn):
        """Other names for the functions; counts of equal ones are added up."""
        counts = collections.Counter()
        for count, name in self:
            counts[map_fn(name)] += count
        return _sorted(counts, self.inclusive)

    def filter(self, filter_fn):
        """The functions whose names `filter_fn` takes."""
        return FunctionCounts(tuple(c for c in self if filter_fn(c.function)), self.inclusive)

    def sum(self):
        return sum(count for count, _ in self)

    def denoise(self):
        """Without the functions of CPython that differ from run to run."""
        return self.filter(lambda name: _NOISY not in name)

    def _merged(self, other, sign):
        if self.inclusive != other.inclusive:
            raise AssertionError("Cannot merge inclusive and exclusive counts.")
        counts = collections.Counter()
        for count, name in self:
            counts[name] += count
        for count, name in other:
            counts[name] += sign * count
        return _sorted(counts, self.inclusive)


def _sorted(counts, inclusive):
    rows = (FunctionCount(count, name) for name, count in counts.items() if count)
    return FunctionCounts(tuple(sorted(rows, reverse=True)), inclusive)


def _shortened(name, room):
    if len(name) <= room:
        return name
    left = (room - 5) // 2
    return f"{name[:left]} ... {name[left + 5 - room :]}"


@dataclasses.dataclass(repr=False, eq=False, frozen=True)
class CallgrindStats:
    """Instructions of a statement, and of as many empty ones (`baseline`)."""

    task_spec: TaskSpec
    number_per_run: int
    built_with_debug_symbols: bool
    baseline_inclusive_stats: FunctionCounts
    baseline_exclusive_stats: FunctionCounts
    stmt_inclusive_stats: FunctionCounts
    stmt_exclusive_stats: FunctionCounts
    stmt_callgrind_out: str | None

    def __repr__(self):
        base, threads = self.baseline_exclusive_stats, self.task_spec.num_threads
        return "\n".join(
            [
                object.__repr__(self),
                self.task_spec.summarize(),
                f"  {'':>25}All{'':>10}Noisy symbols removed",
                f"    Instructions: {self.counts():>12}{'':>15}{self.counts(denoise=True):>12}",
                f"    Baseline:     {base.sum():>12}{'':>15}{base.denoise().sum():>12}",
                f"{self.number_per_run} runs per measurement, {threads} "
                f"thread{'s' if threads > 1 else ''}",
            ]
        )

    def stats(self, inclusive=False):
        """Counts per function; those of callees count too where `inclusive`."""
        return self.stmt_inclusive_stats if inclusive else self.stmt_exclusive_stats

    def counts(self, *, denoise=False):
        """The number of all instructions."""
        stats = self.stmt_exclusive_stats
        return (stats.denoise() if denoise else stats).sum()

    def delta(self, other, inclusive=False):
        """What changed from another measurement to this one."""
        return self.stats(inclusive) - other.stats(inclusive)

    def as_standardized(self):
        """Without the folders of CPython's sources and the names of libraries."""

        def strip(stats):
            for before, after in _PREFIXES:
                stats = stats.transform(lambda name, b=before, a=after: re.sub(b, a, name))
            return stats

        counts = {
            field.name: strip(getattr(self, field.name))
            for field in dataclasses.fields(self)
            if field.name.endswith("_stats")
        }
        return dataclasses.replace(self, **counts, stmt_callgrind_out=None)
