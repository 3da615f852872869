"""Prints median, p90 and max lines of the files in each folder; fails on files over 800 lines."""

import statistics
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("taeda", "python", "tools", "tests", "bench", "examples", "include")
SUFFIXES = {".h", ".cpp", ".c", ".cu", ".py"}
LOOK_AT = 400
LIMIT = 800


def count_lines(root: Path) -> dict[str, int]:
    """Lines of each source file, by its path from `root`."""
    lines = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                lines[path.relative_to(root).as_posix()] = len(path.read_bytes().splitlines())
    return lines


def percentile_90(values: list[int]) -> int:
    """The smallest value that at least nine tenths of `values` do not exceed."""
    ordered = sorted(values)
    return ordered[-(-len(ordered) * 9 // 10) - 1]


def table(lines: dict[str, int]) -> str:
    by_folder = defaultdict(list)
    for name, count in lines.items():
        by_folder[name.rpartition("/")[0]].append(count)
    rows = [f"{'files':>6} {'lines':>7} {'median':>7} {'p90':>5} {'max':>5}  folder"]
    for folder, counts in [*sorted(by_folder.items()), ("total", list(lines.values()))]:
        median = round(statistics.median(counts))
        rows.append(
            f"{len(counts):6} {sum(counts):7} {median:7} {percentile_90(counts):5} "
            f"{max(counts):5}  {folder}"
        )
    return "\n".join(rows)


def over(lines: dict[str, int], limit: int) -> list[str]:
    found = [(count, name) for name, count in lines.items() if count > limit]
    return [f"{count:6}  {name}" for count, name in sorted(found, reverse=True)]


def main() -> int:
    lines = count_lines(ROOT)
    print(table(lines))
    too_long = over(lines, LIMIT)
    long = [line for line in over(lines, LOOK_AT) if line not in too_long]
    if long:
        print(f"over {LOOK_AT} lines, look for the second concept:", *long, sep="\n")
    if too_long:
        print(f"over {LIMIT} lines, split by concept:", *too_long, sep="\n")
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main())
