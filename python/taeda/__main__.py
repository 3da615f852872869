"""python -m taeda: what can be done with an installed Taeda from the command line."""

import argparse
import sys

from taeda.compiler import _cache


def main(argv=None):
    """Runs a command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m taeda", description=__doc__.split(": ")[1])
    commands = parser.add_subparsers(dest="command", required=True)
    _cache.add_command(commands)
    options = parser.parse_args(argv)
    return options.run(options)


if __name__ == "__main__":
    sys.exit(main())
