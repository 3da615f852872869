"""futures: values that another thread gives, callbacks, and several at once."""

import threading

import pytest
from under_test import t

Future, collect_all, wait_all = t.futures.Future, t.futures.collect_all, t.futures.wait_all


def test_a_value_is_given_once():
    future = Future()
    assert not future.done()
    future.set_result(3)
    assert future.done() and future.wait() == future.value() == 3
    with pytest.raises(RuntimeError, match="only be marked completed once"):
        future.set_result(4)
    assert future.wait() == 3


def test_waiting_for_a_thread():
    future = Future()
    thread = threading.Timer(0.05, future.set_result, [t.ones(2)])
    thread.start()
    assert future.wait().tolist() == [1.0, 1.0]
    thread.join()


def test_a_value_that_is_not_there():
    with pytest.raises(RuntimeError):
        Future().value()


def test_exceptions():
    future = Future()
    future.set_exception(ValueError("x"))
    for call in (future.wait, future.value):
        with pytest.raises(ValueError, match="x"):
            call()
    with pytest.raises(AssertionError, match="not an Exception"):
        Future().set_exception(3)


def test_then():
    future = Future()
    following = future.then(lambda done: done.wait() + 1).then(lambda done: done.value() * 2)
    assert not following.done()
    future.set_result(3)
    assert following.wait() == 8
    assert future.then(lambda done: done.wait()).wait() == 3
    with pytest.raises(RuntimeError, match=r"running the callback: ZeroDivisionError"):
        future.then(lambda done: 1 / 0).wait()


def test_callbacks():
    future, seen = Future(), []
    future.add_done_callback(lambda done: seen.append(done.value()))
    future.add_done_callback(lambda done: 1 / 0)
    future.set_result(3)
    future.add_done_callback(lambda done: seen.append("at once"))
    assert seen == [3, "at once"]


def test_several():
    futures = [Future() for _ in range(3)]
    whole = collect_all(futures)
    for value, future in enumerate(futures):
        assert not whole.done()
        future.set_result(value)
    assert [future.wait() for future in whole.wait()] == [0, 1, 2]
    assert wait_all(futures) == [0, 1, 2]
    assert collect_all([]).wait() == wait_all([]) == []
    failed = Future()
    failed.set_exception(KeyError("y"))
    with pytest.raises(KeyError, match="y"):
        wait_all([futures[0], failed])


def test_devices():
    with pytest.raises(ValueError, match="Expected devices to have indices, got cpu"):
        Future(devices=["cpu"])
