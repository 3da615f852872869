"""A process of one framework and one section: runs the cases and prints a line per figure."""

import importlib
import json
import sys
from argparse import Namespace
from collections.abc import Iterator

from side_by_side.arguments import parse
from side_by_side.timing import Case, Measure


def figures(name: str, measure: Measure) -> dict[str, float | str]:
    """A case's figures by name; where the framework cannot run it, one that says why."""
    try:
        value = measure()
    except Exception as error:
        return {f"{name}_error": f"{type(error).__name__}: {error}".splitlines()[0][:160]}
    return value if isinstance(value, dict) else {name: value}


def chosen(cases: Iterator[Case], options: Namespace) -> Iterator[Case]:
    return (case for case in cases if options.rows.search(case[0]))


def main(framework: str, section: str, arguments: list[str]) -> None:
    options = parse(arguments)
    library = importlib.import_module(framework)
    module = importlib.import_module(f"side_by_side.{section}")
    for name, measure in chosen(module.cases(library, options), options):
        for figure in figures(name, measure).items():
            print(json.dumps(figure), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
