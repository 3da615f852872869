"""Generators: driven, delegated to, thrown into, closed and forgotten."""

import gc
import types

from frames_corpus import pure


def case_plain_iteration(p):
    def count(n):
        for i in range(n):
            p.log("yield", i)
            yield i

    return list(count(3)), sum(count(4)), [x for x in count(2)], max(count(2), default=None)


def case_send(p):
    def average():
        total, count, mean = 0, 0, None
        while True:
            value = yield mean
            if value is None:
                return "done"
            total += value
            count += 1
            mean = total / count

    g = average()
    out = [next(g), g.send(10), g.send(20)]
    try:
        g.send(None)
    except StopIteration as stop:
        out.append(stop.value)
    return out


def case_send_before_start(p):
    def f():
        yield 1

    g = f()
    try:
        g.send(5)
    except TypeError as error:
        return str(error), next(g)


def case_throw(p):
    def f():
        while True:
            try:
                yield "waiting"
            except KeyError as error:
                p.log("key", error.args)
            except ValueError:
                yield "value"

    g = f()
    out = [next(g), g.throw(KeyError(1)), g.throw(ValueError("v")), next(g)]
    try:
        g.throw(TypeError("t"))
    except TypeError as error:
        out.append(repr(error))
    return out, list(g)


def case_throw_before_start(p):
    def f():
        p.log("never")
        yield 1

    g = f()
    try:
        g.throw(KeyError("early"))
    except KeyError as error:
        return repr(error), next(g, "exhausted")


def case_close(p):
    def f():
        try:
            yield 1
            yield 2
        except GeneratorExit:
            p.log("exit")
            raise
        finally:
            p.log("finally")

    g = f()
    next(g)
    return g.close(), next(g, "closed"), f().close()


def case_close_ignored(p):
    def f():
        try:
            yield 1
        except GeneratorExit:
            yield 2

    g = f()
    next(g)
    try:
        g.close()
    except RuntimeError as error:
        return str(error)


def case_close_returns_quietly(p):
    def f():
        try:
            yield 1
        except GeneratorExit:
            p.log("left")
            return

    g = f()
    next(g)
    g.close()
    return list(g)


def case_return_value(p):
    def f():
        yield 1
        return {"a": 1}

    def g():
        value = yield from f()
        p.log("value", value)
        return value

    out, h = [], g()
    while True:
        try:
            out.append(next(h))
        except StopIteration as stop:
            return out, stop.value


def case_yield_from_kinds(p):
    def f():
        yield from [1, 2]
        yield from "ab"
        yield from range(2)
        yield from (x * x for x in (3, 4))
        yield from {"k": 1}
        result = yield from iter(())
        yield result

    return list(f())


def case_yield_from_not_iterable(p):
    def f():
        yield from 5

    try:
        list(f())
    except TypeError as error:
        return str(error)


def case_yield_from_send_to_iterator(p):
    def f():
        yield from iter([1, 2])

    g = f()
    next(g)
    try:
        g.send("value")
    except AttributeError as error:
        return str(error)


def case_yield_from_throw_and_close(p):
    def inner():
        try:
            while True:
                try:
                    yield "inner"
                except KeyError:
                    p.log("inner caught")
        finally:
            p.log("inner closed")

    def outer():
        try:
            yield from inner()
        finally:
            p.log("outer closed")

    g = outer()
    out = [next(g), g.throw(KeyError("k"))]
    g.close()
    return out


def case_yield_from_custom_iterator(p):
    class Source:
        def __init__(self):
            self.n = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.n += 1
            if self.n > 2:
                raise StopIteration("result")
            return self.n

        def throw(self, error):
            p.log("throw", repr(error))
            return "thrown"

        def close(self):
            p.log("close")

    def f():
        return (yield from Source())

    g = f()
    out = [next(g), g.throw(ValueError("v")), next(g)]
    try:
        next(g)
    except StopIteration as stop:
        out.append(stop.value)
    h = f()
    next(h)
    h.close()
    return out


def case_stop_iteration_conversion(p):
    def f():
        yield 1
        raise StopIteration("inside")

    g = f()
    next(g)
    try:
        next(g)
    except RuntimeError as error:
        return str(error), repr(error.__cause__)


def case_stop_iteration_from_next(p):
    def first(values):
        yield next(iter(values))

    try:
        return list(first([1])), list(first([]))
    except RuntimeError as error:
        return str(error)


def case_error_inside(p):
    def f():
        yield 1
        yield 1 // 0
        yield 3

    g, out = f(), []
    try:
        for x in g:
            out.append(x)
    except ZeroDivisionError as error:
        out.append(str(error))
    return out, list(g)


def case_suspended_in_with(p):
    class Manager:
        def __enter__(self):
            p.log("enter")

        def __exit__(self, kind, value, tb):
            p.log("exit", kind and kind.__name__)

    def f():
        with Manager():
            yield 1
            yield 2

    for x in f():
        p.log(x)
    g = f()
    next(g)
    g.close()
    h = f()
    next(h)
    try:
        h.throw(KeyError("k"))
    except KeyError:
        return "thrown"


def case_suspended_in_handler(p):
    def f():
        try:
            raise KeyError("held")
        except KeyError as error:
            yield 1
            p.log("still", repr(error))
            try:
                yield 2
            finally:
                p.log("finally")
        yield 3

    g = f()
    next(g)
    try:
        raise ValueError("outside")
    except ValueError:
        out = next(g)
    return out, list(g)


def case_suspended_in_finally(p):
    def f():
        try:
            raise KeyError("pending")
        finally:
            yield "in finally"
            p.log("after")

    g = f()
    out = next(g)
    try:
        next(g)
    except KeyError as error:
        return out, repr(error)


def case_collected_while_suspended(p):
    def f(name):
        try:
            yield 1
        finally:
            p.log("finally", name)

    g = f("dropped")
    next(g)
    del g
    h = f("rebound")
    next(h)
    h = None
    never_started = f("never")
    del never_started
    return "end"


def case_collected_in_a_cycle(p):
    def f(box):
        try:
            yield box
        finally:
            p.log("finally")

    box = []
    g = f(box)
    box.append(g)
    next(g)
    del g, box
    gc.collect()
    return "collected"


def case_loop_left_early(p):
    def f():
        try:
            for i in range(10):
                yield i
        finally:
            p.log("cleanup")

    for x in f():
        if x == 2:
            break
    p.log("after break")

    def search():
        for x in f():
            if x == 1:
                return x

    return x, search()


def case_recursive(p):
    def walk(tree):
        for item in tree:
            if isinstance(item, list):
                yield from walk(item)
            else:
                yield item

    def permutations(items):
        if not items:
            yield ()
        for i, item in enumerate(items):
            for rest in permutations(items[:i] + items[i + 1 :]):
                yield (item, *rest)

    return list(walk([1, [2, [3, [4]], 5]])), list(permutations("abc"))


def case_pipeline(p):
    def read():
        yield from "a1b2c3"

    def digits(chars):
        for c in chars:
            if c.isdigit():
                yield int(c)

    def running(numbers):
        total = 0
        for n in numbers:
            total += n
            yield total

    return list(running(digits(read())))


def case_already_executing(p):
    def f():
        try:
            yield next(g)
        except ValueError as error:
            yield str(error)

    g = f()
    return next(g)


def case_generator_state(p):
    def f():
        x = 1
        yield x
        x = 2
        yield x

    g = f()
    out = [g.gi_running, g.gi_frame is not None]
    next(g)
    out.append(g.gi_frame.f_locals["x"])
    out.append(g.gi_frame.f_lineno - f.__code__.co_firstlineno)
    next(g)
    out.append(g.gi_frame.f_locals["x"])
    list(g)
    return out, g.gi_frame, g.gi_yieldfrom, g.__name__


def case_yield_from_state(p):
    def inner():
        yield 1

    def outer():
        yield from delegate

    delegate = inner()
    g = outer()
    before = g.gi_yieldfrom
    next(g)
    during = g.gi_yieldfrom is delegate
    list(g)
    return before, during, g.gi_yieldfrom


def case_yield_expressions(p):
    def f():
        x = (yield 1) + (yield 2)
        y = [(yield x), (yield)]
        return (yield x, y)

    g = f()
    out = [next(g), g.send(10), g.send(20), g.send("a"), g.send("b")]
    try:
        g.send("end")
    except StopIteration as stop:
        return out, stop.value


def case_generator_methods_and_closures(p):
    class Tree:
        def __init__(self, *children):
            self.children = children

        def __iter__(self):
            yield self
            for child in self.children:
                yield from child

    def make(n):
        def g():
            nonlocal n
            while n:
                n -= 1
                yield lambda: n

        return g()

    return len(list(Tree(Tree(), Tree(Tree())))), [f() for f in make(3)]


def case_generator_arguments(p):
    def f(a, *rest, key=1, **more):
        yield a
        yield rest
        yield key, more

    out = list(f(1, 2, 3, key=4, z=5))
    try:
        f()
    except TypeError as error:
        return out, str(error)


def case_throw_with_traceback_and_context(p):
    def f():
        try:
            yield
        except KeyError as error:
            raise ValueError("inside") from error

    g = f()
    next(g)
    try:
        try:
            raise IndexError("outside")
        except IndexError:
            g.throw(KeyError("thrown"))
    except ValueError as error:
        chain = []
        while error:
            chain.append(repr(error))
            error = error.__cause__ or error.__context__
        return chain


def case_exceptions_do_not_leak_into_caller(p):
    import sys

    def f():
        try:
            raise KeyError("k")
        except KeyError:
            yield repr(sys.exc_info()[1])
            yield repr(sys.exc_info()[1])

    g = f()
    out = [next(g), repr(sys.exc_info()[1])]
    try:
        raise ValueError("v")
    except ValueError:
        out += [next(g), repr(sys.exc_info()[1])]
    return out


def case_types_coroutine(p):
    @types.coroutine
    def pause(value):
        received = yield value
        return received * 2

    async def main():
        return await pause(5) + await pause(6)

    c = main()
    out = [c.send(None), c.send(1)]
    try:
        c.send(2)
    except StopIteration as stop:
        return out, stop.value


@pure
def case_not_started(p):
    def f():
        yield 1

    g = f()
    return type(g).__name__, g.gi_running


def case_interleaved(p):
    def f(name, n):
        for i in range(n):
            p.log(name, i)
            yield f"{name}{i}"

    out, pending = [], [f("a", 2), f("b", 3), f("c", 1)]
    while pending:
        g = pending.pop(0)
        try:
            out.append(next(g))
            pending.append(g)
        except StopIteration:
            p.log("done")
    return out
