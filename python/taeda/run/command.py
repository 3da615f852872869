"""The commands `taeda run` and `taeda shell`."""

import os
import sys

from taeda.run import answer, children, program

_USAGE = """\
usage: taeda run [-m module | -c code | script | -] [arguments...]

Runs a Python program in which `import torch` gives Taeda: a script, a module (-m), a line of code
(-c), or what the standard input says (-). Arguments, exit status and tracebacks are those of
python.
"""

_BANNER = "import sys, torch; print(f'Python {sys.version.split()[0]}, torch is Taeda')"


def run(arguments):
    """Runs the program that the arguments name; returns the exit status."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE, end="", file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    kind = {"-m": "module", "-c": "code"}.get(arguments[0][:2], "script")
    if kind == "script" and arguments[0].startswith("-") and arguments[0] != "-":
        print(f"taeda run: unknown option {arguments[0]}\n{_USAGE}", end="", file=sys.stderr)
        return 2
    if kind != "script" and len(arguments[0]) > 2:  # -mname
        arguments = [arguments[0][:2], arguments[0][2:], *arguments[1:]]
    if kind != "script":
        if len(arguments) == 1:
            print(f"Argument expected for the {arguments[0]} option\n{_USAGE}", file=sys.stderr)
            return 2
        arguments = arguments[1:]
    answer.install()
    children.prepare()
    try:
        return program.run(kind, arguments[0], arguments[1:])
    except program.ProgramError as error:
        print(f"{sys.executable}: {error}", file=sys.stderr)
        return 1 if kind == "module" else 2


def shell(arguments):
    """Becomes the interpreter's own prompt, with `torch` imported."""
    children.prepare()
    os.execv(sys.executable, [sys.executable, "-i", "-c", _BANNER, *arguments])
