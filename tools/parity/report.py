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


class Row(NamedTuple):
    """How many samples of a record agree in one dtype, and why the first that does not."""

    name: str
    good: int
    bad: int
    why: str | None

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

    def add(self, label: str, difference: str | None) -> None:
        if difference is None:
            self.good += 1
        else:
            self.bad += 1
            self.why = self.why or f"{label}: {difference}"

    def row(self) -> Row:
        return Row(self.name, self.good, self.bad, self.why)


@dataclass(frozen=True)
class Verdict:
    """A record's outcome over all dtypes: pass, part or fail."""

    op: str
    verdict: str
    good: int
    bad: int
    why: str

    @classmethod
    def of(cls, op: str, rows: list[Row]) -> "Verdict | None":
        """None where no sample ran."""
        good, bad = sum(row.good for row in rows), sum(row.bad for row in rows)
        if good + bad == 0:
            return None
        word = "pass" if bad == 0 else "part" if good else "fail"
        why = next((f"{row.name} {row.why}" for row in rows if row.why), "")
        return cls(op, word, good, bad, why)

    def __str__(self) -> str:
        return f"{self.verdict} {self.op} {self.good}/{self.good + self.bad} {self.why}".rstrip()


def summary(verdicts: list[Verdict]) -> str:
    """The last line of a run."""
    counts = {word: sum(v.verdict == word for v in verdicts) for word in ("pass", "part", "fail")}
    share = 100 * counts["pass"] / max(len(verdicts), 1)
    good, bad = sum(v.good for v in verdicts), sum(v.bad for v in verdicts)
    words = ", ".join(f"{count} {word}" for word, count in counts.items())
    return f"records: {words} of {len(verdicts)} ({share:.1f} %); samples {good}/{good + bad}"


def as_json(verdicts: list[Verdict]) -> list[dict]:
    return [asdict(verdict) for verdict in verdicts]
