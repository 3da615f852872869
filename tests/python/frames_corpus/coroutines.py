"""Coroutines, async generators and async statements, by hand and under asyncio."""

import asyncio
import contextlib
import types
import warnings

from frames_corpus import over


@types.coroutine
def pause(value=None):
    """Suspends the coroutine that awaits it; gives back what is sent."""
    return (yield value)


def drive(coroutine, *sent):
    """Runs a coroutine by hand: what it yields, then what it returns."""
    out, values = [], [None, *sent]
    while True:
        try:
            out.append(coroutine.send(values.pop(0) if values else None))
        except StopIteration as stop:
            return out, stop.value


@over(drive)
def case_await_chain(p):
    async def inner(x):
        p.log("inner", x)
        return x + await pause(x)

    async def middle(x):
        return await inner(x) * 2

    async def outer():
        return await middle(1) + await middle(2)

    return drive(outer(), 10, 20)


def case_no_suspension(p):
    async def f(x):
        return x

    async def g():
        return [await f(1), await f(2)]

    return drive(g())


@over(pause)
def case_throw_into(p):
    async def f():
        try:
            await pause("waiting")
        except KeyError as error:
            p.log("caught", repr(error))
            return await pause("again")

    c = f()
    out = [c.send(None), c.throw(KeyError("k"))]
    try:
        c.send("last")
    except StopIteration as stop:
        return out, stop.value


@over(pause)
def case_close(p):
    async def f():
        try:
            await pause()
        finally:
            p.log("finally")

    async def outer():
        try:
            await f()
        except GeneratorExit:
            p.log("exit")
            raise

    c = outer()
    c.send(None)
    c.close()
    try:
        c.send(None)
    except RuntimeError as error:
        return str(error)


def case_custom_awaitable(p):
    class Ready:
        def __init__(self, value):
            self.value = value

        def __await__(self):
            p.log("await", self.value)
            received = yield self.value
            return received, self.value

    async def f():
        return await Ready(1), await Ready(2)

    return drive(f(), "a", "b")


def case_await_iterator(p):
    class Listed:
        def __await__(self):
            return iter([1, 2])

    async def f():
        return await Listed()

    return drive(f())


def case_await_errors(p):
    class NotIterator:
        def __await__(self):
            return 5

    async def coroutine():
        return 1

    async def attempt(value):
        try:
            return await value
        except (TypeError, RuntimeError) as error:
            return str(error)

    used = coroutine()
    drive(used)
    return [drive(attempt(v))[1] for v in (5, NotIterator(), used, None)]


@over(pause)
def case_async_with(p):
    class Manager:
        def __init__(self, name, swallow=False):
            self.name, self.swallow = name, swallow

        async def __aenter__(self):
            p.log("enter", await pause(self.name))
            return self

        async def __aexit__(self, kind, value, tb):
            p.log("exit", self.name, kind and kind.__name__, await pause("leaving"))
            return self.swallow

    async def f():
        async with Manager("a") as a, Manager("b", swallow=True):
            p.log("body", a.name)
            raise ValueError("inside")
        async with Manager("c"):
            return "returned"

    return drive(f(), 1, 2, 3, 4, 5)


def case_async_with_errors(p):
    class OnlyEnter:
        async def __aenter__(self):
            return self

    class Fails:
        async def __aenter__(self):
            return self

        async def __aexit__(self, *args):
            raise KeyError("exit")

    class NotAwaitable:
        def __aenter__(self):
            return 5

        async def __aexit__(self, *args):
            return None

    async def attempt(manager):
        try:
            async with manager:
                raise ValueError("body")
        except (AttributeError, TypeError, KeyError) as error:
            return type(error).__name__, type(error.__context__).__name__

    return [drive(attempt(m))[1] for m in (5, OnlyEnter(), Fails(), NotAwaitable())]


@over(pause)
def case_async_for(p):
    class Count:
        def __init__(self, n):
            self.n = n

        def __aiter__(self):
            return self

        async def __anext__(self):
            if not self.n:
                raise StopAsyncIteration
            self.n -= 1
            await pause(self.n)
            return self.n

    async def f():
        out = []
        async for x in Count(4):
            if x == 2:
                continue
            out.append(x)
        else:
            out.append("else")
        async for x in Count(3):
            if x == 1:
                break
        return out, x

    return drive(f())


def case_async_for_errors(p):
    class NoNext:
        def __aiter__(self):
            return 5

    class BadNext:
        def __aiter__(self):
            return self

        def __anext__(self):
            return 7

    async def attempt(source):
        try:
            async for _ in source:
                p.log("never")
        except TypeError as error:
            return str(error)

    return [drive(attempt(s))[1] for s in (5, NoNext(), BadNext())]


@over(pause)
def case_async_generator(p):
    async def count(n):
        for i in range(n):
            received = yield i
            p.log("received", received)
            await pause("between")

    async def f():
        return [x async for x in count(3)]

    return drive(f())


def case_async_generator_asend(p):
    async def echo():
        value = "start"
        while value:
            value = yield value

    async def f():
        g = echo()
        out = [await g.asend(None), await g.asend("a")]
        out.append(await g.asend("b"))
        try:
            await g.asend("")
        except StopAsyncIteration:
            out.append("end")
        return out

    return drive(f())


def case_async_generator_athrow(p):
    async def f():
        try:
            yield 1
        except KeyError:
            p.log("key")
            yield 2
        finally:
            p.log("finally")

    async def main():
        g = f()
        out = [await g.__anext__(), await g.athrow(KeyError("k"))]
        try:
            await g.athrow(ValueError("v"))
        except ValueError as error:
            out.append(repr(error))
        return out

    return drive(main())


@over(pause)
def case_async_generator_aclose(p):
    async def f():
        try:
            yield 1
            yield 2
        finally:
            p.log("finally", await pause("closing"))

    async def main():
        g = f()
        first = await g.__anext__()
        await g.aclose()
        try:
            await g.__anext__()
        except StopAsyncIteration:
            return first, "closed"

    return drive(main(), "sent")


def case_async_generator_ignores_exit(p):
    async def f():
        try:
            yield 1
        except GeneratorExit:
            yield 2

    async def main():
        g = f()
        await g.__anext__()
        try:
            await g.aclose()
        except RuntimeError as error:
            return str(error)

    return drive(main())


def case_async_generator_stop_conversion(p):
    async def f(kind):
        yield 1
        raise kind("inside")

    async def main():
        out = []
        for kind in (StopIteration, StopAsyncIteration):
            try:
                async for _ in f(kind):
                    pass
            except RuntimeError as error:
                out.append((str(error), repr(error.__cause__)))
        return out

    return drive(main())


def case_stop_iteration_from_coroutine(p):
    async def f():
        raise StopIteration("x")

    try:
        f().send(None)
    except RuntimeError as error:
        return str(error), repr(error.__cause__)


@over(pause)
def case_async_comprehensions(p):
    async def numbers(n):
        for i in range(n):
            await pause(i)
            yield i

    async def f():
        squares = {x: x * x async for x in numbers(3) if x}
        lazy = (x + 1 async for x in numbers(2))
        return squares, [x async for x in lazy], [[y async for y in numbers(x)] for x in range(3)]

    return drive(f())


def case_anext_builtin(p):
    async def f():
        yield 1

    async def main():
        g = aiter(f())
        return await anext(g), await anext(g, "default")

    return drive(main())


def case_await_in_expressions(p):
    async def v(x):
        p.log(x)
        return x

    async def main():
        total = await v(1) + await v(2) * await v(3)
        data = {await v("k"): await v("w")}
        data["z"] = (await v(4) if await v(True) else await v(5)), f"{await v(6)}"
        return total, data, [*(await v([7])), await v(8)]

    return drive(main())


@over(pause)
def case_await_in_handlers(p):
    async def f():
        out = []
        for i in range(3):
            try:
                if await pause(i):
                    raise KeyError(i)
                out.append("fine")
            except KeyError as error:
                out.append((await pause("handler"), repr(error)))
                continue
            finally:
                out.append(await pause("finally"))
        return out

    return drive(f(), True, "h", "f", False, "f2", True)


def case_never_awaited(p):
    async def f():
        return 1

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f()
    return [str(w.message).split("coroutine")[-1][-18:] for w in caught]


def case_coroutine_attributes(p):
    async def f():
        x = 5
        await pause(x)

    c = f()
    out = [c.cr_running, c.cr_await]
    c.send(None)
    out += [c.cr_frame.f_locals["x"], c.cr_await.__name__, c.__name__]
    c.close()
    return out, c.cr_frame


def case_run_simple(p):
    async def f(x):
        await asyncio.sleep(0)
        return x

    async def main():
        return await f(1), await asyncio.gather(f(2), f(3))

    return asyncio.run(main())


def case_run_tasks(p):
    async def worker(name, n):
        for i in range(n):
            p.log(name, i)
            await asyncio.sleep(0)
        return name

    async def main():
        tasks = [asyncio.create_task(worker(n, 2)) for n in "ab"]
        return [await t for t in tasks]

    return asyncio.run(main())


def case_run_cancellation(p):
    async def forever():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            p.log("cancelled")
            raise
        finally:
            p.log("finally")

    async def main():
        task = asyncio.create_task(forever())
        await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return task.cancelled()

    return asyncio.run(main())


def case_run_queue(p):
    async def producer(queue):
        for i in range(3):
            await queue.put(i)
        await queue.put(None)

    async def consumer(queue):
        out = []
        while (item := await queue.get()) is not None:
            out.append(item)
        return out

    async def main():
        queue = asyncio.Queue(1)
        return (await asyncio.gather(producer(queue), consumer(queue)))[1]

    return asyncio.run(main())


def case_run_task_group(p):
    async def job(n):
        await asyncio.sleep(0)
        if n == 2:
            raise ValueError(n)
        return n

    async def main():
        try:
            async with asyncio.TaskGroup() as group:
                for n in range(3):
                    group.create_task(job(n))
        except* ValueError as found:
            p.log([repr(e) for e in found.exceptions])
        return "done"

    return asyncio.run(main())


def case_run_future_callbacks(p):
    async def main():
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        future.add_done_callback(lambda f: p.log("done", f.result()))
        loop.call_soon(future.set_result, 5)
        value = await future
        await asyncio.sleep(0)
        return value

    return asyncio.run(main())


def case_async_contextmanager(p):
    @contextlib.asynccontextmanager
    async def managed():
        p.log("in", await pause("in"))
        try:
            yield "value"
        except KeyError as error:
            p.log("swallowed", repr(error))

    async def main():
        async with managed() as value:
            raise KeyError(value)
        return "after"

    return drive(main(), 1)


def case_uncaught_in_await(p):
    async def inner():
        await pause()
        raise LookupError("deep")

    async def outer():
        await inner()

    c = outer()
    c.send(None)
    c.send(None)
