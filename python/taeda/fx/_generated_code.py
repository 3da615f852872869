"""Runs generated code: functions from text whose tracebacks show the text."""

import linecache
import weakref
from itertools import count

from taeda.fx._wrapped_functions import forget_wrapped

_numbers = count()


def function_from_source(src, namespace, name, origin=""):
    """The function `name` that `src` defines; linecache knows its lines."""
    file = f"<eval_with_key>.{next(_numbers)}{origin}"
    namespace = dict(namespace)
    linecache.cache[file] = (len(src), None, src.splitlines(keepends=True), file)
    exec(compile(src, file, "exec"), namespace)
    # The globals do not hold the function, so that it goes when its module does.
    function = namespace.pop(name)
    weakref.finalize(function, _forget, file, id(namespace)).atexit = False
    return function


def _forget(file, namespace):
    """Drops the lines of a function that is gone, and what its code gave to `wrap`."""
    linecache.cache.pop(file, None)
    forget_wrapped(namespace)


def note_line(error, function):
    """Tells, as a note of the error, which line of the generated function raised it.

    Errors of what the function calls have a traceback of their own and get no note.
    """
    code = getattr(function, "__code__", None)
    if code is None or not code.co_filename.startswith("<eval_with_key>"):
        return
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    file, line = code.co_filename, trace.tb_lineno
    if trace.tb_frame.f_code.co_filename != file:
        return
    shown = [linecache.getline(file, n).rstrip() for n in range(max(1, line - 2), line + 3)]
    marked = min(line, 3)
    shown.insert(marked, "~" * len(shown[marked - 1]) + " <--- HERE")
    error.add_note(
        f"Call using an FX-traced Module, line {line} of the traced Module's generated forward "
        "function:\n" + "\n".join(shown)
    )
