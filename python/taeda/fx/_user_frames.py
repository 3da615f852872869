"""Looks at the frame that used a proxy: what it does there, and the line to name in errors."""

import dis
import functools
import linecache
import pathlib
import re

_PACKAGE = f"{pathlib.Path(__file__).parent}/"


def _instruction(frame):
    """The instruction that the frame is at, and those after it."""
    found = iter(dis.get_instructions(frame.f_code))
    for instruction in found:
        if instruction.offset == frame.f_lasti:
            return instruction, found
    return None, found


def is_unpacking(frame):
    """How many values `a, b = proxy` asks for; None if the frame does something else."""
    instruction, _ = _instruction(frame)
    if instruction is not None and instruction.opname == "UNPACK_SEQUENCE":
        return instruction.argval
    return None


def is_storing_item(frame):
    """Whether the frame runs `proxy[index] = value`."""
    instruction, _ = _instruction(frame)
    return instruction is not None and instruction.opname in ("STORE_SUBSCR", "STORE_SLICE")


def asserted_truth(frame):
    """The truth value that an assert statement asks for: False by `assert not`; None elsewhere."""
    instruction, following = _instruction(frame)
    # From Python 3.13 on the jump gets a bool, made by an instruction before it.
    if instruction is not None and instruction.opname in ("TO_BOOL", "COMPARE_OP"):
        instruction = next(following)
    if instruction is None or not instruction.opname.startswith("POP_JUMP"):
        return None
    if next(following).opname != "LOAD_ASSERTION_ERROR":
        return None
    return instruction.opname.endswith("IF_TRUE")


def user_frame(frame):
    """The innermost frame outside the tracer."""
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return frame


def describe(frame):
    """`file:line, in function: code` of the innermost frame outside the tracer."""
    frame = user_frame(frame)
    if frame is None:
        return "an unknown line"
    file, line = frame.f_code.co_filename, frame.f_lineno
    code = linecache.getline(file, line).strip()
    return f"{file}:{line}, in {frame.f_code.co_name}: {code}"


def user_stack(frame):
    """The frames of the traced program as `traceback` prints them, the outermost first."""
    entries = []
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(_PACKAGE):
            entries.append((code.co_filename, frame.f_lineno, code.co_name))
        elif code.co_name == "trace":
            break
        frame = frame.f_back
    return "\n".join(
        f'  File "{file}", line {line}, in {name}\n    {linecache.getline(file, line).strip()}'
        for file, line, name in reversed(entries)
    ).strip()


_PLACE = re.compile(r' *File "(.+)", line (\d+), in .+')


@functools.lru_cache(maxsize=1024)
def _line_with_code(line):
    """None for a line that is no place. The nodes of a deep program share most of theirs."""
    place = _PLACE.fullmatch(line)
    if place is None:
        return None
    code = linecache.getline(place[1], int(place[2])).strip()
    return f"{line}\n    {code}\n" if code else f"{line}\n"


def with_code(trace):
    """A stack trace with the code of its lines, where it has none: captures keep places alone."""
    lines = [_line_with_code(line) for line in trace.split("\n")]
    return trace if None in lines else "".join(lines)
