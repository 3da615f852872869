"""Tests of the modes: as contexts, and as decorators of functions, generators and coroutines."""

import asyncio

import pytest
from under_test import NAME, t


def test_nesting():
    with t.no_grad():
        assert not t.is_grad_enabled()
        with t.enable_grad():
            assert t.is_grad_enabled()
        with t.set_grad_enabled(True):
            assert t.is_grad_enabled()
    mode = t.no_grad()
    with mode, t.enable_grad():
        pass
    assert t.is_grad_enabled()


def test_set_grad_enabled_acts_at_once():
    t.set_grad_enabled(False)
    try:
        assert not t.is_grad_enabled()
    finally:
        t.set_grad_enabled(True)


def test_inference_mode_switches_recording():
    with t.inference_mode():
        assert t.is_inference_mode_enabled() and not t.is_grad_enabled()
        with t.inference_mode(False):
            assert t.is_grad_enabled() and not t.is_inference_mode_enabled()
    assert t.is_grad_enabled()


@pytest.mark.parametrize(
    "make_mode", [lambda: t.no_grad, t.no_grad, lambda: t.set_grad_enabled(False), t.inference_mode]
)
def test_decorated_function(make_mode):
    @make_mode()
    def asked():
        return t.is_grad_enabled()

    assert asked.__name__ == "asked"
    assert asked() is False and t.is_grad_enabled()


def test_decorated_generator_runs_in_the_mode_and_waits_outside():
    @t.no_grad()
    def generator():
        sent = yield t.is_grad_enabled()
        try:
            yield sent, t.is_grad_enabled()
        except KeyError:
            yield "caught", t.is_grad_enabled()
        return "end"

    running = generator()
    assert next(running) is False and t.is_grad_enabled()
    assert running.send("value") == ("value", False)
    assert running.throw(KeyError()) == ("caught", False)
    with pytest.raises(StopIteration) as stop:
        next(running)
    assert stop.value.value == "end" and t.is_grad_enabled()


@pytest.mark.skipif(NAME == "torch", reason="PyTorch leaves a coroutine's mode when it is made")
def test_decorated_coroutine_runs_in_the_mode_and_waits_outside():
    seen = []

    @t.no_grad()
    async def quiet():
        seen.append(t.is_grad_enabled())
        await asyncio.sleep(0)
        seen.append(t.is_grad_enabled())
        return "result"

    async def loud():
        seen.append(("other", t.is_grad_enabled()))

    async def main():
        return await asyncio.gather(quiet(), loud())

    assert asyncio.run(main())[0] == "result"
    assert seen == [False, ("other", True), False]


@pytest.mark.skipif(NAME == "torch", reason="PyTorch leaves a coroutine's mode when it is made")
def test_decorated_async_generator():
    @t.no_grad()
    async def numbers():
        for _ in range(2):
            yield t.is_grad_enabled()

    async def main():
        return [(value, t.is_grad_enabled()) async for value in numbers()]

    assert asyncio.run(main()) == [(False, True), (False, True)]


def test_decorated_class_warns():
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

        @t.no_grad()
        class Quiet:
            def __init__(self):
                self.mode = t.is_grad_enabled()

    assert Quiet().mode is False


def test_writes_that_do_not_count():
    x = t.ones(2)
    x.add_(1)
    with t.autograd._unsafe_preserve_version_counter(x):
        x.mul_(2).mul_(3)
    assert x._version == 1 and x.tolist() == [12.0, 12.0]


def test_a_warning_may_be_told_each_time():
    assert not t.is_warn_always_enabled()
    t.set_warn_always(True)
    try:
        for _ in range(2):
            x = t.ones(1, requires_grad=True)
            with pytest.warns(UserWarning, match="with create_graph=True will create a reference"):
                (x * x).backward(create_graph=True)
            x.grad = None
    finally:
        t.set_warn_always(False)
