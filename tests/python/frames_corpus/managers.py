"""The with statement, by hand-made managers and by contextlib."""

import contextlib
import io

from frames_corpus import over


class Manager:
    def __init__(self, p, name, swallow=False, fail_enter=None, fail_exit=None):
        self.p, self.name, self.swallow = p, name, swallow
        self.fail_enter, self.fail_exit = fail_enter, fail_exit

    def __enter__(self):
        self.p.log("enter", self.name)
        if self.fail_enter:
            raise self.fail_enter
        return self.name

    def __exit__(self, kind, value, tb):
        self.p.log("exit", self.name, repr(value), tb is None)
        if self.fail_exit:
            raise self.fail_exit
        return self.swallow


@over(Manager.__enter__, Manager.__exit__)
def case_single(p):
    with Manager(p, "a") as name:
        p.log("body", name)
    return name


def case_without_target(p):
    with Manager(p, "a"):
        pass
    with Manager(p, "b"):
        p.log("body")


def case_many(p):
    with Manager(p, 1) as a, Manager(p, 2) as b, Manager(p, 3):
        p.log(a + b)
    with (
        Manager(p, 4) as c,
        Manager(p, 5),
    ):
        return a, b, c


def case_return_inside(p):
    def f():
        with Manager(p, "outer"):
            with Manager(p, "inner"):
                return "value"
        return "never"

    return f()


def case_break_and_continue_inside(p):
    out = []
    for i in range(4):
        with Manager(p, i):
            if i == 1:
                continue
            if i == 3:
                break
            out.append(i)
    return out


def case_swallowing(p):
    with Manager(p, "a", swallow=True):
        raise ValueError("gone")
    with Manager(p, "b", swallow=[1]):
        raise KeyError("also gone")
    return "after"


def case_not_swallowing(p):
    try:
        with Manager(p, "a", swallow=0):
            raise ValueError("stays")
    except ValueError as error:
        return str(error)


def case_swallowing_in_the_middle(p):
    with Manager(p, 1), Manager(p, 2, swallow=True), Manager(p, 3):
        raise ValueError("x")
    return "after"


def case_error_in_enter(p):
    try:
        with Manager(p, 1), Manager(p, 2, fail_enter=KeyError("enter")):
            p.log("never")
    except KeyError as error:
        return repr(error)


def case_error_in_exit(p):
    try:
        with Manager(p, 1), Manager(p, 2, fail_exit=KeyError("exit")):
            raise ValueError("body")
    except KeyError as error:
        return repr(error), repr(error.__context__)


def case_error_in_exit_after_success(p):
    try:
        with Manager(p, 1, fail_exit=OSError("close")):
            p.log("fine")
    except OSError as error:
        return repr(error), error.__context__


def case_error_in_exit_after_return(p):
    def f():
        with Manager(p, 1, fail_exit=OSError("close")):
            return "lost"

    try:
        return f()
    except OSError as error:
        return repr(error)


def case_error_in_truth_of_exit(p):
    class Undecided:
        def __bool__(self):
            raise ArithmeticError("undecided")

    try:
        with Manager(p, 1, swallow=Undecided()):
            raise ValueError("x")
    except ArithmeticError as error:
        return repr(error), repr(error.__context__)


def case_missing_protocol(p):
    class OnlyEnter:
        def __enter__(self):
            return self

    class OnlyExit:
        def __exit__(self, *args):
            return None

    out = []
    for value in (5, OnlyEnter(), OnlyExit(), None):
        try:
            with value:
                out.append("entered")
        except (TypeError, AttributeError) as error:
            text = str(error)
            out.append(text.split("'")[-1])
    return out


def case_instance_attributes_ignored(p):
    class Manager2:
        def __enter__(self):
            return "class"

        def __exit__(self, *args):
            p.log("class exit")

    manager = Manager2()
    manager.__enter__ = lambda: "instance"
    manager.__exit__ = lambda *args: p.log("instance exit")
    with manager as name:
        return name


def case_targets(p):
    class Pair(Manager):
        def __enter__(self):
            return self.name, (2, 3)

    box = {}
    with Pair(p, 1) as (a, (b, c)), Pair(p, 5) as box["k"]:
        return a, b, c, box


def case_target_unpacking_fails(p):
    try:
        with Manager(p, "xyz") as (a, b):
            p.log("never")
    except ValueError as error:
        return str(error)


@over(contextlib._GeneratorContextManager.__enter__, contextlib._GeneratorContextManager.__exit__)
def case_contextmanager(p):
    @contextlib.contextmanager
    def managed(name):
        p.log("before", name)
        try:
            yield name * 2
        finally:
            p.log("after", name)

    with managed("a") as value:
        p.log(value)
    try:
        with managed("b"):
            raise KeyError("inside")
    except KeyError as error:
        return value, repr(error)


@over(contextlib._GeneratorContextManager.__exit__)
def case_contextmanager_swallows(p):
    @contextlib.contextmanager
    def managed():
        try:
            yield
        except ValueError as error:
            p.log("swallowed", repr(error))

    with managed():
        raise ValueError("v")
    try:
        with managed():
            raise TypeError("t")
    except TypeError as error:
        return repr(error)


@over(contextlib._GeneratorContextManager.__enter__, contextlib._GeneratorContextManager.__exit__)
def case_contextmanager_misuse(p):
    @contextlib.contextmanager
    def never():
        if False:
            yield

    @contextlib.contextmanager
    def twice():
        yield 1
        yield 2

    out = []
    for make in (never, twice):
        try:
            with make():
                p.log("body")
        except RuntimeError as error:
            out.append(str(error))
    return out


def case_contextmanager_replaces(p):
    @contextlib.contextmanager
    def managed():
        try:
            yield
        except KeyError as error:
            raise ValueError("new") from error

    try:
        with managed():
            raise KeyError("old")
    except ValueError as error:
        return repr(error), repr(error.__cause__)


def case_contextmanager_stop_iteration(p):
    @contextlib.contextmanager
    def managed():
        yield

    try:
        with managed():
            raise StopIteration("inside")
    except StopIteration as error:
        return error.value


def case_contextmanager_decorator(p):
    @contextlib.contextmanager
    def around():
        p.log("in")
        yield
        p.log("out")

    @around()
    def f(x):
        p.log("f", x)
        return x + 1

    return f(1), f(2)


@over(contextlib.ExitStack.__exit__, contextlib._BaseExitStack.callback)
def case_exit_stack(p):
    with contextlib.ExitStack() as stack:
        names = [stack.enter_context(Manager(p, i)) for i in range(3)]
        stack.callback(p.log, "callback", 1)
        stack.push(lambda *args: p.log("pushed", args[0]))
    return names


@over(contextlib.ExitStack.__exit__)
def case_exit_stack_errors(p):
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(Manager(p, "outer"))
            stack.enter_context(Manager(p, "swallows", swallow=True))
            stack.enter_context(Manager(p, "fails", fail_exit=KeyError("exit")))
            raise ValueError("body")
        stack = None
    except KeyError as error:
        return repr(error)
    return "swallowed"


@over(contextlib.suppress.__exit__)
def case_suppress(p):
    with contextlib.suppress(KeyError, ValueError):
        {}["missing"]
        p.log("never")
    try:
        with contextlib.suppress(KeyError):
            raise TypeError("t")
    except TypeError:
        return "other"


@over(contextlib.closing.__exit__, contextlib.nullcontext.__enter__)
def case_nullcontext_and_closing(p):
    class Door:
        def close(self):
            p.log("closed")

    with contextlib.nullcontext(5) as five, contextlib.closing(Door()) as door:
        return five, type(door).__name__


@over(contextlib.redirect_stdout.__enter__, contextlib._RedirectStream.__exit__)
def case_redirect(p):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        print("hidden", 5)
    return text.getvalue()


def case_context_decorator_class(p):
    class Timed(contextlib.ContextDecorator):
        def __enter__(self):
            p.log("start")

        def __exit__(self, *exc):
            p.log("stop", exc[0] and exc[0].__name__)
            return True

    @Timed()
    def f(n):
        return 10 // n

    return f(5), f(0)


def case_same_manager_nested(p):
    class Counter:
        depth = 0

        def __enter__(self):
            self.depth += 1
            return self.depth

        def __exit__(self, *args):
            self.depth -= 1

    counter = Counter()
    with counter as one, counter as two:
        with counter as three:
            seen = counter.depth
    return one, two, three, seen, counter.depth


def case_finally_with_with(p):
    def f():
        for i in range(3):
            try:
                with Manager(p, i):
                    if i == 2:
                        return "two"
                    if i == 1:
                        raise KeyError(i)
            except KeyError:
                p.log("caught")
                continue
            finally:
                p.log("finally", i)

    return f()
