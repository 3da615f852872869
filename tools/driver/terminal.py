"""How the longer programs of `./run` talk: argument errors of one line, progress on a terminal."""

import argparse
import re
import shutil
import sys
from pathlib import Path
from typing import NoReturn, TextIO


class Parser(argparse.ArgumentParser):
    """Reads a command's options; what is wrong with them is said in one line."""

    def __init__(self, command: str, description: str) -> None:
        super().__init__(
            prog=command,
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def pattern(text: str) -> re.Pattern[str]:
    """An option's regular expression."""
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no regular expression: {error}") from None


def count(text: str) -> int:
    """An option's number of things: zero or more."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a number of at least 0, got {text!r}")
    return int(text)


def names_among(known: tuple[str, ...]):
    """An option's list of names with commas between them, each one of `known`."""

    def read(text: str) -> list[str]:
        names = text.split(",")
        unknown = [name for name in names if name not in known]
        if unknown:
            given = ", ".join(map(repr, unknown))
            raise argparse.ArgumentTypeError(f"unknown {given}; known are {', '.join(known)}")
        return list(dict.fromkeys(names))

    return read


def new_file(text: str) -> Path:
    """An option's file to write, in a folder that exists: a mistake must not cost a long run."""
    path = Path(text)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise argparse.ArgumentTypeError(f"cannot write {text!r}: no file can be made there")
    return path


class Progress:
    """A line on the terminal that says how far the work is; nothing where no one is looking."""

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self.total = total
        self.stream = stream or sys.stderr
        self.is_shown = self.stream.isatty()

    def show(self, done: int, text: str) -> None:
        """Replaces the line: `done` of the total, and `text`."""
        if self.is_shown:
            line = f"[{done}/{self.total}] {text}"[: shutil.get_terminal_size().columns - 1]
            self.stream.write(f"\r\x1b[K{line}")
            self.stream.flush()

    def clear(self) -> None:
        """Takes the line away, before something is printed that stays."""
        if self.is_shown:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
