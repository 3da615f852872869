"""What was found: rows per dtype, a verdict per record, a line for all of them."""

from dataclasses import asdict, dataclass
from typing import NamedTuple


def one_line(error: BaseException) -> str:
    """An exception's type and the start of its message."""
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0][:160] if lines else ''}"


def is_missing(error: Exception) -> bool:
    """Whether an exception says that Taeda lacks an operator, which is both of these at once."""
    return isinstance(error, NotImplementedError) and isinstance(error, AttributeError)


def is_to_come(error: Exception) -> bool:
    """Whether an exception says that a call needs what is still to come, by the words for that."""
    return isinstance(error, NotImplementedError) and "not there yet" in str(error)


class Row(NamedTuple):
    """How many samples of a record agree in one dtype, and why the first that does not."""

    name: str
    good: int
    bad: int
    why: str | None
    fallbacks: list[str] = []  # operators that compiled samples call for want of a lowering

    @classmethod
    def failed(cls, name: str, why: str) -> "Row":
        return cls(name, 0, 1, why)


class Tally:
    """Counts samples into a row."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.good = 0
        self.bad = 0
        self.why: str | None = None
        self.fallbacks: set[str] = set()

    def add(self, label: str, difference: str | None) -> None:
        if difference is None:
            self.good += 1
        else:
            self.bad += 1
            self.why = self.why or f"{label}: {difference}"

    def row(self) -> Row:
        return Row(self.name, self.good, self.bad, self.why, sorted(self.fallbacks))


@dataclass(frozen=True)
class Verdict:
    """A record's outcome over all dtypes: pass, part or fail."""

    op: str
    verdict: str
    good: int
    bad: int
    why: str
    fallbacks: list[str]
    seconds: float

    @classmethod
    def of(cls, op: str, rows: list[Row], seconds: float = 0.0) -> "Verdict | None":
        """None where no sample ran."""
        good, bad = sum(row.good for row in rows), sum(row.bad for row in rows)
        if good + bad == 0:
            return None
        word = "pass" if bad == 0 else "part" if good else "fail"
        why = next((f"{row.name} {row.why}" for row in rows if row.why), "")
        fallbacks = sorted({name for row in rows for name in row.fallbacks})
        return cls(op, word, good, bad, why, fallbacks, round(seconds, 2))

    def __str__(self) -> str:
        return f"{self.verdict} {self.op} {self.good}/{self.good + self.bad} {self.why}".rstrip()


def summary(verdicts: list[Verdict]) -> str:
    """The last line of a run."""
    counts = {word: sum(v.verdict == word for v in verdicts) for word in ("pass", "part", "fail")}
    share = 100 * counts["pass"] / max(len(verdicts), 1)
    good, bad = sum(v.good for v in verdicts), sum(v.bad for v in verdicts)
    words = ", ".join(f"{count} {word}" for word, count in counts.items())
    line = f"records: {words} of {len(verdicts)} ({share:.1f} %); samples {good}/{good + bad}"
    falling = sum(bool(v.fallbacks) for v in verdicts)
    share = 100 * falling / max(len(verdicts), 1)
    return f"{line}; {falling} records with fallbacks ({share:.1f} %)" if falling else line


def slowest(verdicts: list[Verdict], count: int = 10) -> str:
    """The records that took longest."""
    ordered = sorted(verdicts, key=lambda verdict: -verdict.seconds)[:count]
    return "slowest: " + ", ".join(f"{v.op} {v.seconds:.1f} s" for v in ordered)


def as_json(verdicts: list[Verdict]) -> list[dict]:
    return [asdict(verdict) for verdict in verdicts]
