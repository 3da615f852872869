"""The text of a program below which an instruction is marked."""

import dis

import pytest
from taeda._dynamo.utils import get_instruction_source_311

PROGRAM = """\
def f():
    a = (a + b) // (c - d)
    a = b    \\
 +\\
       c  # more
    a = bbb[ccc][ddd]
    a = g(h(
        b,
    ))
    a = ("é" + b) * c
"""
MARKED = {
    "BINARY_OP //": """\
    a = (a + b) // (c - d)
        ~~~~~~~~^^~~~~~~~~
""",
    "BINARY_OP +": """\
    a = b    \\
        ~~~~~~
 +\\
 ^~
       c  # more
       ~
""",
    "subscript": """\
    a = bbb[ccc][ddd]
        ~~~~~~~~^^^^^
""",
    "call": """\
    a = g(h(
        ~^^^
        b,
        ^^
    ))
    ^^
""",
    "BINARY_OP *": """\
    a = ("é" + b) * c
        ~~~~~~~~~~^~~
""",
}


def instructions(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    names = {}
    exec(compile(PROGRAM, str(path), "exec"), names)
    return names["f"].__code__, list(dis.get_instructions(names["f"]))


@pytest.mark.parametrize("kind", MARKED)
def test_marks(kind, tmp_path):
    code, found = instructions(tmp_path)
    assert MARKED[kind] in [get_instruction_source_311(code, inst) for inst in found]
