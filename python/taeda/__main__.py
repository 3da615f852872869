"""taeda, python -m taeda: what can be done with an installed Taeda from the command line."""

import sys

_USAGE = """\
usage: taeda <command> [arguments...]

  run             runs a Python program in which `import torch` gives Taeda
  shell           the Python prompt with `torch` imported, which is Taeda
  compile-cache   the folder of compiled kernels: list, size, clear
"""


def _compile_cache(arguments):
    import argparse

    from taeda.compiler import _cache

    parser = argparse.ArgumentParser(prog="taeda")
    _cache.add_command(parser.add_subparsers())
    options = parser.parse_args(["compile-cache", *arguments])
    return options.run(options)


def _run(arguments):
    from taeda.run import command

    return command.run(arguments)


def _shell(arguments):
    from taeda.run import command

    return command.shell(arguments)


_COMMANDS = {"run": _run, "shell": _shell, "compile-cache": _compile_cache}


def main(argv=None):
    """Runs a command; returns its exit status."""
    name, *arguments = (sys.argv[1:] if argv is None else argv) or [""]
    if name in _COMMANDS:
        return _COMMANDS[name](arguments)
    if name in ("-h", "--help"):
        print(_USAGE, end="")
        return 0
    print(f"taeda: no such command: {name!r}\n{_USAGE}", end="", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
