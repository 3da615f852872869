"""Makes a table of the figures: medians per framework, and the ratio of the first two."""

import statistics
from dataclasses import dataclass

from side_by_side.turns import Figures


@dataclass(frozen=True)
class Line:
    """A case: a number or a text per framework, None where it has neither."""

    case: str
    values: list[float | str | None]
    ratio: float | None

    def __str__(self) -> str:
        cells = "".join(map(cell, self.values))
        return f"{self.case:44}{cells}{'' if self.ratio is None else f'{self.ratio:.2f}':>10}"


def cell(value: float | str | None) -> str:
    if value is None:
        return f"{'-':>14}"
    return f"  {value}" if isinstance(value, str) else f"{value:14.3f}"


def middle(values: list[float | str]) -> float | str | None:
    """The median; of texts, which name errors, the first."""
    texts = [value for value in values if isinstance(value, str)]
    if texts:
        return texts[0]
    return statistics.median(values) if values else None


def ratio_of(case: str, values: list[float | str | None]) -> float | None:
    """The first to the second; turned round where more is better, so that below 1 is ahead."""
    numbers = [value for value in values[:2] if isinstance(value, int | float) and value > 0]
    if len(numbers) < 2:
        return None
    first, second = numbers
    return second / first if case.endswith("_gflops") else first / second


def lines_of(figures: Figures, frameworks: list[str]) -> list[Line]:
    lines = []
    for case, by_framework in figures.items():
        values = [middle(by_framework.get(name, [])) for name in frameworks]
        lines.append(Line(case, values, ratio_of(case, values)))
    return lines


def text(lines: list[Line], frameworks: list[str]) -> str:
    """The table, with a line below it that counts the ratios."""
    heading = f"{'case':44}{''.join(f'{name:>14}' for name in frameworks)}{'ratio':>10}"
    ratios = [line.ratio for line in lines if line.ratio is not None]
    if not ratios:
        return "\n".join([heading, *map(str, lines)])
    ahead = sum(ratio <= 1 for ratio in ratios)
    mean = statistics.geometric_mean(ratios)
    below = f"{len(ratios)} compared, {ahead} at or ahead; geometric mean ratio {mean:.2f}"
    return "\n".join([heading, *map(str, lines), below])


def as_json(lines: list[Line], frameworks: list[str]) -> dict[str, dict]:
    return {
        line.case: {**dict(zip(frameworks, line.values)), "ratio": line.ratio} for line in lines
    }
