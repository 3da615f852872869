"""Reads the table of must-fail calls in must_fail.txt."""

import builtins
import dataclasses
import pathlib


@dataclasses.dataclass(frozen=True)
class MustFail:
    """A statement over `t` that must raise exactly `error` with `phrase` in its message."""

    group: str
    source: str
    error: type
    phrase: str


def read_cases(path):
    """The cases in the order of the file; groups are the comment lines after the opening one."""
    cases, group, source = [], None, None
    blocks = path.read_text().split("\n\n")[1:]
    for line in "\n".join(blocks).splitlines():
        if line.startswith("#"):
            group = line.lstrip("# ")
        elif line.startswith("    "):
            error, phrase = line.strip().split(": ", 1)
            cases.append(MustFail(group, source, getattr(builtins, error), phrase))
        else:
            source = line
    return cases


CASES = read_cases(pathlib.Path(__file__).with_name("must_fail.txt"))
