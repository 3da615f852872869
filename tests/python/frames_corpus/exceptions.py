"""Raising, handling, finally blocks, groups, and what exceptions say."""

import sys
import traceback

from frames_corpus import pure


def case_simple_handling(p):
    def attempt(value):
        try:
            return 10 // value
        except ZeroDivisionError:
            return "zero"
        except (TypeError, ValueError) as error:
            return type(error).__name__

    return attempt(5), attempt(0), attempt("a")


def case_else_and_finally(p):
    def attempt(fail):
        out = []
        try:
            out.append("try")
            if fail:
                raise KeyError(fail)
        except KeyError:
            out.append("except")
        else:
            out.append("else")
        finally:
            out.append("finally")
        return out

    return attempt(0), attempt(1)


def case_return_in_finally(p):
    def f():
        try:
            raise ValueError("lost")
        finally:
            return "finally"

    def g():
        try:
            return "try"
        finally:
            p.log("g")

    def h():
        for _ in range(2):
            try:
                return "try"
            finally:
                break
        return "after"

    return f(), g(), h()


def case_continue_and_break_in_finally(p):
    out = []
    for i in range(4):
        try:
            if i == 1:
                raise ValueError(i)
            if i == 2:
                out.append("two")
        finally:
            if i < 3:
                out.append(i)
                continue
            break
    return out


def case_nested_finally(p):
    def f(how):
        try:
            try:
                try:
                    if how == "raise":
                        raise LookupError("deep")
                    if how == "return":
                        return "value"
                finally:
                    p.log("innermost", how)
            finally:
                p.log("middle", how)
        except LookupError:
            p.log("caught")
            return "handled"
        finally:
            p.log("outermost", how)
        return "end"

    return f("raise"), f("return"), f("plain")


def case_finally_replaces_exception(p):
    try:
        try:
            raise KeyError("first")
        finally:
            raise ValueError("second")
    except ValueError as error:
        return str(error), repr(error.__context__), error.__cause__


def case_raise_from(p):
    def convert(cause):
        try:
            raise KeyError("inner")
        except KeyError as error:
            raise RuntimeError("outer") from (error if cause else None)

    out = []
    for cause in (True, False):
        try:
            convert(cause)
        except RuntimeError as error:
            out.append((repr(error.__cause__), repr(error.__context__), error.__suppress_context__))
    return out


def case_bare_raise(p):
    def inner():
        try:
            raise IndexError("original")
        except IndexError as error:
            error.add_note("seen")
            raise

    try:
        inner()
    except IndexError as error:
        return error.args, error.__notes__


def case_bare_raise_in_function(p):
    def again():
        raise

    try:
        try:
            raise KeyError(1)
        except KeyError:
            again()
    except KeyError as error:
        p.log("again", error.args)
    try:
        again()
    except RuntimeError as error:
        return str(error)


def case_raise_kinds(p):
    out = []
    for make in (lambda: ValueError, lambda: ValueError("x"), lambda: 5, lambda: None):
        try:
            raise make()
        except Exception as error:
            out.append((type(error).__name__, str(error)))
    try:
        raise ValueError("a") from 5
    except TypeError as error:
        out.append(str(error))
    try:
        raise KeyError("a") from IndexError
    except KeyError as error:
        out.append(repr(error.__cause__))
    return out


def case_except_variable_is_deleted(p):
    error = "before"
    try:
        raise ValueError("x")
    except ValueError as error:
        kept = error
    try:
        return error
    except UnboundLocalError as missing:
        return str(missing), str(kept)


def case_except_variable_deleted_by_hand(p):
    try:
        raise ValueError("x")
    except ValueError as error:
        del error
    try:
        raise KeyError("y")
    except KeyError as error:
        error = 5
        p.log(error)
    return "error" in locals()


def case_handler_chain_context(p):
    try:
        try:
            try:
                raise KeyError(1)
            except KeyError:
                raise IndexError(2)
        except IndexError:
            raise ValueError(3)
    except ValueError as error:
        chain = []
        while error is not None:
            chain.append(repr(error))
            error = error.__context__
        return chain


def case_exc_info_nesting(p):
    def current():
        return repr(sys.exc_info()[1])

    out = [current()]
    try:
        raise KeyError("outer")
    except KeyError:
        out.append(current())
        try:
            raise ValueError("inner")
        except ValueError:
            out.append(current())
        out.append(current())
    out.append(current())
    return out


def case_exc_info_in_finally(p):
    out = []

    def f():
        try:
            raise KeyError("k")
        finally:
            out.append(repr(sys.exc_info()[1]))

    try:
        f()
    except KeyError:
        out.append(sys.exc_info()[0].__name__)
    out.append(sys.exc_info())
    return out


def case_handler_matching_errors(p):
    def attempt(kinds):
        try:
            raise ValueError("v")
        except kinds:
            return "matched"

    out = [attempt(ValueError), attempt((KeyError, (ValueError)))]
    for kinds in (5, "text", (KeyError, 3)):
        try:
            attempt(kinds)
        except TypeError as error:
            out.append((str(error), repr(error.__context__)))
    return out


def case_handlers_evaluated_in_order(p):
    def kind(value):
        p.log(value.__name__)
        return value

    try:
        raise LookupError("l")
    except kind(KeyError):
        return 1
    except kind(LookupError):
        return 2
    except kind(Exception):
        return 3


def case_loop_with_handlers(p):
    out = []
    for i in range(5):
        try:
            if i == 1:
                continue
            if i == 3:
                raise StopIteration(i)
            if i == 4:
                break
            out.append(i)
        except StopIteration as stop:
            out.append(("stop", stop.value))
            continue
        finally:
            out.append("f")
    return out


def case_return_from_handler_in_loop(p):
    def f():
        for i in range(3):
            for j in range(3):
                try:
                    if i + j == 3:
                        raise KeyError(i, j)
                except KeyError as error:
                    return error.args
                finally:
                    p.log(i, j)

    return f()


def case_except_group(p):
    def attempt(group):
        out = []
        try:
            raise group
        except* ValueError as found:
            out.append(("value", [str(e) for e in found.exceptions]))
        except* (TypeError, KeyError) as found:
            out.append(("other", [type(e).__name__ for e in found.exceptions]))
        else:
            out.append("else")
        finally:
            out.append("finally")
        return out

    return [
        attempt(ExceptionGroup("g", [ValueError(1), TypeError(2), ValueError(3)])),
        attempt(ExceptionGroup("g", [KeyError(1)])),
        attempt(ValueError("naked")),
    ]


def case_except_group_remainder(p):
    group = ExceptionGroup("g", [ValueError(1), OSError(2), ExceptionGroup("n", [KeyError(3)])])
    try:
        try:
            raise group
        except* ValueError:
            p.log("value")
        except* KeyError:
            p.log("key")
    except ExceptionGroup as rest:
        return rest.message, [type(e).__name__ for e in rest.exceptions]


def case_except_group_raises(p):
    try:
        try:
            raise ExceptionGroup("g", [ValueError(1), KeyError(2)])
        except* ValueError:
            raise RuntimeError("new")
        except* KeyError as found:
            raise found.exceptions[0] from None
    except ExceptionGroup as both:
        return both.message, [repr(e) for e in both.exceptions]


def case_except_group_reraise_and_loop(p):
    out = []
    for kind in (ValueError, KeyError, None):
        try:
            try:
                if kind:
                    raise ExceptionGroup("g", [kind("x")])
            except* ValueError:
                raise
            except* KeyError:
                p.log("key")
        except ExceptionGroup as again:
            out.append(repr(again))
    return out


def case_except_group_invalid(p):
    out = []
    for kinds in (ExceptionGroup, 5):
        try:
            try:
                raise ExceptionGroup("g", [ValueError(1)])
            except* kinds:
                pass
        except TypeError as error:
            out.append(str(error))
    return out


def case_group_split(p):
    group = ExceptionGroup("g", [ValueError(1), ExceptionGroup("n", [TypeError(2), ValueError(3)])])
    match, rest = group.split(lambda e: isinstance(e, ValueError))
    return repr(match), repr(rest), group.subgroup(KeyError)


def case_notes_and_format(p):
    def fail():
        raise ValueError("text")

    try:
        fail()
    except ValueError as error:
        error.add_note("first note")
        error.add_note("second note")
        text = traceback.format_exception(error)
        return [line for line in text if "note" in line or "Value" in line], len(text)


def case_traceback_lines(p):
    def inner(n):
        if n:
            return inner(n - 1)
        return [1, 2][5]

    try:
        inner(2)
    except IndexError as error:
        first = case_traceback_lines.__code__.co_firstlineno
        tb, out = error.__traceback__, []
        while tb is not None:
            out.append((tb.tb_frame.f_code.co_name, tb.tb_lineno - first))
            tb = tb.tb_next
        return out


def case_traceback_positions(p):
    def f(a, b):
        return a.value + b["k"] * (1 / len(b))

    out = []
    for args in ((1, {}), (p, {})):
        try:
            f(*args)
        except (AttributeError, KeyError) as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            out.append((frame.colno, frame.end_colno))
    return out


def case_exception_in_comprehension(p):
    def check(x):
        if x == 2:
            raise ValueError(x)
        return x

    try:
        return [check(x) for x in range(4)]
    except ValueError as error:
        p.log(error.args)
    try:
        return {check(x): [y for y in range(x)] for x in range(3)}
    except ValueError as error:
        return [frame.name for frame in traceback.extract_tb(error.__traceback__)][-1]


def case_assertions(p):
    out = []
    for value in (True, False):
        try:
            assert value, f"value is {value}"
            out.append("passed")
        except AssertionError as error:
            out.append(str(error))
    try:
        assert not out
    except AssertionError as error:
        out.append(error.args)
    return out


def case_name_messages(p):
    def unbound():
        value += 1
        value = 0
        return value

    def free():
        def inner():
            return later

        inner()
        later = 1
        return later

    out = []
    for action in (unbound, free, lambda: missing_name, lambda: p.missing, lambda: (5).missing):
        try:
            action()
        except (NameError, AttributeError) as error:
            out.append((type(error).__name__, str(error), error.name))
    return out


def case_delete_messages(p):
    def local():
        x = 1
        del x
        del x

    def cell():
        y = 1
        (lambda: y)
        del y
        return y

    def item():
        del {}["k"]

    def name():
        global nothing_here
        del nothing_here

    out = []
    for action in (local, cell, item, name):
        try:
            action()
        except (NameError, KeyError) as error:
            out.append((type(error).__name__, str(error)))
    return out


def case_custom_exceptions(p):
    class Base(Exception):
        def __init__(self, code, **details):
            super().__init__(code)
            self.code, self.details = code, details

        def __str__(self):
            return f"code {self.code} {self.details}"

    class Child(Base):
        pass

    try:
        raise Child(7, where="here")
    except Base as error:
        return str(error), error.args, type(error).__name__


def case_exception_equality_by_identity(p):
    made = ValueError("same")
    caught = []
    for _ in range(2):
        try:
            raise made
        except ValueError as error:
            caught.append(error is made)
    depth, tb = 0, made.__traceback__
    while tb:
        depth, tb = depth + 1, tb.tb_next
    made.__traceback__ = None
    return caught, depth


def case_base_exceptions(p):
    class Stop(BaseException):
        pass

    out = []
    for kind in (KeyboardInterrupt, SystemExit, GeneratorExit, Stop):
        try:
            try:
                raise kind("x")
            except Exception:
                out.append("never")
        except BaseException as error:
            out.append(type(error).__name__)
    return out


def case_exit_uncaught_from_finally(p):
    def f():
        try:
            raise KeyError("one")
        finally:
            p.log("cleanup")
            try:
                raise ValueError("two")
            except ValueError:
                p.log("handled")

    f()


def case_error_in_handler_uncaught(p):
    try:
        {}["missing"]
    except KeyError as error:
        raise TypeError("bad", error.args[0])


@pure
def case_handled_without_name(p):
    try:
        int("x")
    except ValueError:
        return "handled"


def case_with_traceback(p):
    def fail():
        raise KeyError("k")

    try:
        fail()
    except KeyError as error:
        short = error.with_traceback(error.__traceback__.tb_next)
        names = [f.name for f in traceback.extract_tb(short.__traceback__)]
        return names, short is error
