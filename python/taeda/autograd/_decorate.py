"""Decorating functions with context managers: plain, generator and async functions alike.

A mode belongs to the thread, so it must hold while a decorated generator or coroutine runs, and not
while it waits.
"""

import functools
import inspect
import types


def decorate(make_mode, function):
    """`function` with a fresh `make_mode()` around everything it runs."""
    if inspect.isclass(function):
        return _decorate_class(make_mode, function)
    for is_kind, wrapper in (
        (inspect.isgeneratorfunction, _generator),
        (inspect.iscoroutinefunction, _coroutine),
        (inspect.isasyncgenfunction, _async_generator),
    ):
        if is_kind(function):
            return functools.wraps(function)(wrapper(make_mode, function))

    @functools.wraps(function)
    def call(*args, **kwargs):
        with make_mode():
            return function(*args, **kwargs)

    return call


def _decorate_class(make_mode, cls):
    import warnings

    warnings.warn(
        "Decorating classes is deprecated and will be disabled in future versions. You should "
        "only decorate functions or methods. To preserve the current behavior of class "
        "decoration, you can directly decorate the `__init__` method and nothing else.",
        FutureWarning,
        stacklevel=4,
    )

    def construct(*args, **kwargs):
        with make_mode():
            return cls(*args, **kwargs)

    return functools.update_wrapper(construct, cls, updated=())


def _drive(make_mode, generator):
    """Passes values and exceptions through to `generator`, which runs in the mode."""
    resume, value = generator.send, None
    while True:
        try:
            with make_mode():
                produced = resume(value)
        except StopIteration as stop:
            return stop.value
        try:
            value = yield produced
            resume = generator.send
        except GeneratorExit:
            with make_mode():
                generator.close()
            raise
        except BaseException as error:
            resume, value = generator.throw, error


def _generator(make_mode, function):
    def call(*args, **kwargs):
        return (yield from _drive(make_mode, function(*args, **kwargs)))

    return call


@types.coroutine
def _awaited(make_mode, awaitable):
    return (yield from _drive(make_mode, awaitable.__await__()))


def _coroutine(make_mode, function):
    async def call(*args, **kwargs):
        return await _awaited(make_mode, function(*args, **kwargs))

    return call


def _async_generator(make_mode, function):
    async def call(*args, **kwargs):
        generator = function(*args, **kwargs)
        resume, value = generator.asend, None
        while True:
            try:
                produced = await _awaited(make_mode, resume(value))
            except StopAsyncIteration:
                return
            try:
                value = yield produced
                resume = generator.asend
            except GeneratorExit:
                await _awaited(make_mode, generator.aclose())
                raise
            except BaseException as error:
                resume, value = generator.athrow, error

    return call
