"""The options of `./run golden`, on the standard library alone."""

import argparse
from pathlib import Path

from driver.terminal import Parser

DESCRIPTION = """\
Runs the sample calls of the operator records in PyTorch and keeps results and gradients under
tests/golden, one file per family, and PyTorch's counts of graphs and breaks for the programs that
tests compile. Every `./run test` compares Taeda with them."""

PROGRAMS = "programs"
OPS = Path(__file__).resolve().parents[2] / "taeda" / "ops"


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = Parser("./run golden", DESCRIPTION)
    parser.add_argument(
        "family", nargs="*", help="folders of taeda/ops, or programs; everything without a name"
    )
    options = parser.parse_args(arguments)
    for family in options.family:
        if family != PROGRAMS and not (OPS / family / "records.toml").exists():
            parser.error(f"taeda/ops has no family {family!r}")
    return options
