"""Frames, tracebacks, stacks, warnings and the tracing hooks, seen from Python."""

import inspect
import io
import linecache
import sys
import traceback
import warnings

from frames_corpus import over


def _names(frame, stop):
    """The functions from a frame outwards, up to one."""
    out = []
    while frame is not None:
        out.append(frame.f_code.co_name)
        if out[-1] == stop:
            break
        frame = frame.f_back
    return out


@over(_names)
def case_getframe(p):
    def inner():
        return _names(sys._getframe(), "case_getframe")

    def outer():
        return inner(), sys._getframe(1).f_code.co_name

    return outer()


def case_line_numbers(p):
    base = sys._getframe().f_lineno
    lines = [sys._getframe().f_lineno - base]
    lines.append(
        sys._getframe().f_lineno - base,
    )
    for _ in range(2):
        lines.append(sys._getframe().f_lineno - base)
    return lines, [sys._getframe().f_lineno - base for _ in range(2)]


def case_line_number_of_caller(p):
    def line():
        return sys._getframe(1).f_lineno

    first = line()
    second = [line(), line()][1]
    third = (
        line()
    )  # fmt: skip
    return second - first, third - first


def case_frame_locals(p):
    def f(a, *args, b=2, **kwargs):
        c = a + b
        cell = 5
        frame = sys._getframe()
        names = sorted(frame.f_locals)
        (lambda: cell)()
        return names, frame.f_locals["c"], frame.f_locals["cell"]

    return f(1, 2, z=3)


def case_caller_locals(p):
    def peek():
        return {k: v for k, v in sys._getframe(1).f_locals.items() if k != "peek"}

    def f():
        x = 1
        first = peek()
        x = 2
        y = 3
        return first, peek()["x"], y

    return f()


def case_frame_attributes(p):
    def f():
        frame = sys._getframe()
        return (
            frame.f_code is f.__code__,
            frame.f_globals is globals(),
            frame.f_builtins["len"] is len,
            frame.f_trace,
            frame.f_lasti >= 0,
        )

    return f()


def case_frame_outlives_function(p):
    def f(x):
        y = x * 2
        frame = sys._getframe()
        y += 1
        return frame

    frame = f(5)
    return frame.f_locals["x"], frame.f_locals["y"], frame.f_back.f_code.co_name, frame.f_lineno


def case_frame_kept_and_cleared(p):
    class Noisy:
        def __del__(self):
            p.log("deleted")

    def f():
        value = Noisy()
        return sys._getframe(), type(value).__name__

    frame, _ = f()
    p.log("returned")
    frame.clear()
    return dict(frame.f_locals)


def case_frame_clear_while_running(p):
    try:
        sys._getframe().clear()
    except RuntimeError as error:
        return str(error)


def case_generator_frame(p):
    def g():
        x = 1
        yield sys._getframe()
        x = 2
        yield x

    it = g()
    frame = next(it)
    first = frame.f_locals["x"]
    next(it)
    return first, frame is it.gi_frame, frame.f_locals["x"], frame.f_back


def case_generator_back(p):
    def g():
        while True:
            yield _names(sys._getframe(), "case_generator_back")

    def other(it):
        return next(it)

    it = g()
    return next(it), other(it)


@over(inspect.currentframe, inspect.getframeinfo)
def case_inspect_frame(p):
    frame = inspect.currentframe()
    info = inspect.getframeinfo(frame, context=0)
    return info.function, info.lineno - frame.f_code.co_firstlineno


def case_inspect_stack(p):
    def f():
        return [record.function for record in inspect.stack(context=0)][:2]

    return f()


@over(inspect.signature)
def case_inspect_signature(p):
    def f(a, /, b: int = 1, *args, c, **kwargs) -> str:
        return ""

    class A:
        def __init__(self, x, y=2):
            pass

        def method(self, z):
            pass

    return str(inspect.signature(f)), str(inspect.signature(A)), str(inspect.signature(A(1).method))


def case_inspect_arguments(p):
    def f(a, b=2, *args, **kwargs):
        values = inspect.getargvalues(sys._getframe())
        return values.args, values.varargs, values.keywords, values.locals["a"]

    return f(1), inspect.getcallargs(lambda x, y=5: 0, 3)


@over(traceback.extract_stack)
def case_extract_stack(p):
    def inner():
        stack = traceback.extract_stack(limit=2)
        return [(f.name, f.lineno - stack[0].lineno) for f in stack]

    return inner()


def case_format_exc(p):
    def fail():
        raise ValueError("text")

    try:
        fail()
    except ValueError:
        lines = traceback.format_exc().splitlines()
    return [line.strip() for line in lines if "File" not in line and "^" not in line]


def case_walk_traceback(p):
    def one():
        x = "one"
        two()

    def two():
        x = "two"
        raise KeyError(x)

    try:
        one()
    except KeyError as error:
        return [f.f_locals.get("x") for f, _ in traceback.walk_tb(error.__traceback__)]


def case_traceback_frames_identity(p):
    frames = []

    def f():
        frames.append(sys._getframe())
        raise ValueError

    try:
        f()
    except ValueError as error:
        tb = error.__traceback__
        return tb.tb_frame is sys._getframe(), tb.tb_next.tb_frame is frames.pop(), tb.tb_lasti > 0


def case_traceback_of_reraise(p):
    def f():
        try:
            raise ValueError("x")
        except ValueError:
            p.log("line")
            raise

    try:
        f()
    except ValueError as error:
        base = f.__code__.co_firstlineno
        return [t.lineno - base for t in traceback.extract_tb(error.__traceback__)][1:]


def case_warning_stacklevels(p):
    def warn(level):
        warnings.warn(f"level {level}", UserWarning, stacklevel=level)

    def caller(level):
        warn(level)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for level in (1, 2, 3):
            caller(level)
    base = caught[0].lineno
    return [(str(w.message), w.lineno - base, w.filename == __file__) for w in caught]


def case_warning_as_error(p):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            warnings.warn("now an error", DeprecationWarning)
        except DeprecationWarning as error:
            return str(error)


def case_exc_info_frames(p):
    def f():
        local = "value"
        raise LookupError(local)

    try:
        f()
    except LookupError:
        kind, value, tb = sys.exc_info()
        out = kind.__name__, value.args, tb.tb_next.tb_frame.f_locals["local"]
        del kind, value, tb
        return out


def case_settrace(p):
    def traced(x):
        y = x + 1
        if y > 1:
            y *= 2
        return y

    base = traced.__code__.co_firstlineno

    def tracer(frame, event, arg):
        if frame.f_code is not traced.__code__:
            return None
        p.log(event, frame.f_lineno - base, arg if event == "return" else None)
        return tracer

    sys.settrace(tracer)
    try:
        value = traced(3)
    finally:
        sys.settrace(None)
    return value, traced(0)


def case_settrace_exceptions(p):
    def traced():
        for i in range(2):
            try:
                [][i]
            except IndexError:
                continue
        return "end"

    def tracer(frame, event, arg):
        if frame.f_code is traced.__code__:
            p.log(event, frame.f_lineno - traced.__code__.co_firstlineno)
            return tracer

    sys.settrace(tracer)
    try:
        return traced()
    finally:
        sys.settrace(None)


def case_settrace_generator(p):
    def g():
        yield 1
        yield 2

    def tracer(frame, event, arg):
        if frame.f_code is g.__code__:
            p.log(event, arg)
            return tracer

    it = g()
    first = next(it)
    sys.settrace(tracer)
    try:
        return first, list(it)
    finally:
        sys.settrace(None)


def case_setprofile(p):
    def work(x):
        return len(str(x))

    def profiler(frame, event, arg):
        if frame.f_code is work.__code__:
            p.log(event, getattr(arg, "__name__", arg))

    sys.setprofile(profiler)
    try:
        work(5)
    finally:
        sys.setprofile(None)
    return work(55)


def case_monitoring(p):
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is None:
        return "older"

    def work(n):
        total = 0
        for i in range(n):
            total += i
        return total

    tool, events = 4, monitoring.events
    monitoring.use_tool_id(tool, "corpus")
    try:
        monitoring.register_callback(tool, events.PY_START, lambda c, o: p.log("start", c.co_name))
        monitoring.register_callback(tool, events.PY_RETURN, lambda c, o, v: p.log("return", v))
        monitoring.set_local_events(tool, work.__code__, events.PY_START | events.PY_RETURN)
        value = work(3)
        monitoring.set_local_events(tool, work.__code__, 0)
    finally:
        for event in (events.PY_START, events.PY_RETURN):
            monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)
    return value, work(2)


def case_monitoring_lines(p):
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is None:
        return "older"

    def work(n):
        if n:
            n += 1
        return n

    base = work.__code__.co_firstlineno
    tool, events = 4, monitoring.events
    monitoring.use_tool_id(tool, "corpus")
    try:
        monitoring.register_callback(tool, events.LINE, lambda c, line: p.log(line - base))
        monitoring.set_local_events(tool, work.__code__, events.LINE)
        return work(1), work(0)
    finally:
        monitoring.set_local_events(tool, work.__code__, 0)
        monitoring.register_callback(tool, events.LINE, None)
        monitoring.free_tool_id(tool)


def case_code_attributes(p):
    def f(a, b=1, *c, d, **e):
        g = a
        return lambda: g

    code = f.__code__
    return (
        code.co_argcount, code.co_kwonlyargcount, code.co_varnames, code.co_cellvars, code.co_name,
        f(1, d=2).__code__.co_freevars, len(list(code.co_lines())) > 0,
    )  # fmt: skip


def case_print_stack(p):
    def f():
        text = io.StringIO()
        traceback.print_stack(limit=1, file=text)
        return text.getvalue()

    linecache.clearcache()
    return "traceback.print_stack" in f()


def case_depth(p):
    def depth():
        frame, n = sys._getframe(), 0
        while frame.f_code.co_name != "case_depth":
            frame, n = frame.f_back, n + 1
        return n

    def deeper(n):
        return deeper(n - 1) if n else depth()

    return (
        depth(),
        deeper(3),
        [depth() for _ in range(1)][0] >= 1,
        list(map(lambda x: depth(), (1,))),
    )


def case_locals_through_frames_of_classes(p):
    class A:
        x = 1
        seen = sorted(n for n in sys._getframe().f_locals if not n.startswith("__"))
        name = sys._getframe().f_code.co_name

    return A.seen, A.name


def case_writes_through_frame_locals(p):
    def f():
        x = 1
        sys._getframe().f_locals["x"] = 2
        return x if sys.version_info < (3, 13) else "written"

    return f()


def case_excepthook_and_unraisable(p):
    class Bad:
        def __del__(self):
            raise ValueError("in del")

    saved, sys.unraisablehook = sys.unraisablehook, lambda u: p.log(u.exc_type.__name__)
    try:
        bad = Bad()
        del bad
    finally:
        sys.unraisablehook = saved
    return "after"
