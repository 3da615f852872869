"""Captures that signals interrupt."""

import signal
import time

import pytest
from under_test import t

counters = t._dynamo.utils.counters
X = t.ones(3)


class LateError(Exception):
    """What a handler raises."""


@pytest.fixture
def alarm():
    """Calls a handler every so many seconds."""
    before = signal.getsignal(signal.SIGALRM)

    def start(handler, seconds, interval=0.0):
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, seconds, interval)

    yield start
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def slow(x, n):
    k = 0
    for i in range(n):
        k = (k + i) % 7
    return x + k


def slow_in_c(x, n):
    def step(i):
        k = 0
        for j in range(100):
            k = (k + j + i) % 7
        return k

    return x + sum(map(step, range(n // 100)))


def slow_in_try(x, n):
    try:
        return slow(x, n)
    except Exception:
        return x - 100


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, LateError, SystemExit])
@pytest.mark.parametrize("function", [slow, slow_in_c])
def test_what_a_signals_handler_raises_comes_out_of_a_capture(function, error, alarm):
    t.compiler.reset()
    counters.clear()
    fired = []

    def handler(_number, _frame):
        fired.append(time.perf_counter())
        raise error("now")

    compiled = t.compile(function, backend="eager")
    alarm(handler, 0.02)
    with pytest.raises(error, match="now") as caught:
        compiled(X, 100_000_000)  # minutes, if nobody looked
    assert len(fired) == 1 and [entry.name for entry in caught.traceback][-1] == "handler"
    assert dict(counters["graph_break"]) == {} and not counters["given_up"]
    # The next call is compiled as if nothing had been.
    assert t.equal(compiled(X, 700), function(X, 700))
    assert counters["stats"]["unique_graphs"] == 1


def test_an_interrupted_region_leaves_nothing_behind(alarm):
    class Model(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.seen = []
            self.register_buffer("count", t.zeros(()))

        def forward(self, x, n):
            self.seen.append(n)
            self.count += 1
            with t.no_grad():
                return slow(x, n)

    def handler(_number, _frame):
        raise LateError

    model = Model()
    compiled = t.compile(model, backend="eager")
    alarm(handler, 0.02)
    with pytest.raises(LateError):
        compiled(X, 100_000_000)
    assert model.seen == [] and model.count == 0 and t.is_grad_enabled()
    assert t.equal(compiled(X, 10), model(X, 10)) and model.seen == [10, 10]


def test_a_handler_that_raises_leaves_the_region_where_it_began(alarm):
    def handler(_number, _frame):
        raise LateError

    alarm(handler, 0.02)
    with pytest.raises(LateError):
        t.compile(slow_in_try, backend="eager")(X, 100_000_000)


def test_handlers_that_do_not_raise_run_as_they_are(alarm):
    counters.clear()
    seen = []

    def handler(_number, _frame):
        # Neither captured nor recorded.
        seen.append((X * 2).sum().item())

    alarm(handler, 0.002, 0.002)
    compiled = t.compile(slow, backend="eager", fullgraph=True)
    assert t.equal(compiled(X, 100_000), slow(X, 100_000))
    assert seen and set(seen) == {6.0}
    assert counters["stats"]["calls_captured"] == 1 and dict(counters["graph_break"]) == {}
