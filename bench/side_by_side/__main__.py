"""Runs the sections, prints the table and writes its numbers where asked."""

import json
import sys

from side_by_side.arguments import parse
from side_by_side.table import as_json, lines_of, text
from side_by_side.turns import collect


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    figures = collect(options, arguments)
    if not figures:
        print(f"./run bench --peers: no case is called {options.rows.pattern!r}", file=sys.stderr)
        return 2
    lines = lines_of(figures, options.frameworks)
    print(text(lines, options.frameworks))
    if options.json:
        numbers = as_json(lines, options.frameworks)
        options.json.write_text(json.dumps(numbers, indent=1) + "\n")
    return 1 if any(line.case.endswith("_failed") for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
