"""The lines of the user's program behind a node or an error."""

import linecache
import re
import sys
import traceback
from pathlib import Path

_PACKAGE = f"{Path(__file__).parents[1]}/"
# Layers are the user's program too: their lines say which operator of which layer it is.
_SHOWN = f"{_PACKAGE}nn/"
_TRACE = f"{_PACKAGE}export/_trace.py"
_CALLING = f"{_PACKAGE}nn/modules/module.py"
# Runs nodes of a captured program, which know their lines.
_CAPTURED = f"{_PACKAGE}compiler/_export.py"
_PLACE = re.compile(r'File "(.+)", line (\d+), in ')


def _is_shown(file):
    is_ours = file.startswith(_PACKAGE)
    return not is_ours or (file.startswith(_SHOWN) and file != _CALLING)


def _with_code(stack):
    """A stack of places with the line of the program behind each."""
    lines = []
    for place in _PLACE.finditer(stack):
        end = stack.find("\n", place.start())
        lines.append("  " + stack[place.start() : end if end >= 0 else None].strip())
        lines.append("    " + linecache.getline(place[1], int(place[2])).strip())
    return "\n".join(lines)


def note_stack(node):
    """Gives a node the stack of the traced program, the innermost line last.

    Called by the callback of the tracer.
    """
    entries, frame = [], sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if code.co_filename == _TRACE:
            break
        if code.co_filename == _CAPTURED and code.co_name == "run_node":
            entries.append(_with_code(frame.f_locals["n"].stack_trace or ""))
        elif _is_shown(code.co_filename):
            line = linecache.getline(code.co_filename, frame.f_lineno).strip()
            place = f'  File "{code.co_filename}", line {frame.f_lineno}, in {code.co_name}'
            entries.append(f"{place}\n    {line}")
        frame = frame.f_back
    if entries:
        node.meta["stack_trace"] = "\n".join(reversed(entries)).strip()


def user_line(trace):
    """`file:line in function: code` of the innermost line outside the package."""
    lines = [f for f in traceback.extract_tb(trace) if not f.filename.startswith(_PACKAGE)]
    if not lines:
        return "an unknown line"
    last = lines[-1]
    return f"{last.filename}:{last.lineno} in {last.name}: {last.line}"
