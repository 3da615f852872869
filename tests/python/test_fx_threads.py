"""Traces in several threads, and what other threads see of them."""

import sys
import threading

import pytest

import taeda
from taeda import fx, nn


@fx.wrap
def one_step(x):
    return x + 1


def halved(x):
    return int(x) // 2


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.rest = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        self.scale = nn.Parameter(taeda.ones(2))

    def forward(self, x):
        for _ in range(10):
            x = one_step(self.rest(self.first(x)) * self.scale)
        return x, halved(x.size(0))


@pytest.fixture
def often_switched():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def trace():
    model = Model()
    tracer = fx.Tracer(autowrap_functions=(halved,))
    return fx.GraphModule(model, tracer.trace(model))


def in_threads(*programs):
    errors = []

    def guarded(program):
        try:
            program()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(program,)) for program in programs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors


@pytest.mark.usefixtures("often_switched")
def test_threads_trace_and_run_at_once():
    call, getattribute, step, half = nn.Module.__call__, nn.Module.__getattr__, one_step, halved
    expected = str(trace().graph)

    def tracing():
        for _ in range(5):
            traced = trace()
            assert str(traced.graph) == expected
            assert traced(taeda.ones(3, 2))[1] == 1

    def running():
        model = Model()
        for _ in range(20):
            assert type(model(taeda.ones(1, 2))[0]) is taeda.Tensor
            assert not fx._symbolic_trace.is_fx_tracing()

    in_threads(tracing, running, tracing, running, tracing)
    assert nn.Module.__call__ is call and nn.Module.__getattr__ is getattribute
    assert one_step is step and halved is half


def test_a_trace_may_wait_for_one_in_another_thread():
    def outer(x):
        in_threads(lambda: trace())
        return one_step(x)

    assert "one_step" in fx.symbolic_trace(outer).code
    assert not hasattr(one_step, "__fx_already_patched")


def test_a_trace_inside_a_trace():
    graphs = []

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Model()

        def forward(self, x):
            graphs.append(trace().graph)
            return self.inner.first(x)

    outer = fx.symbolic_trace(Outer())
    assert [n.target for n in outer.graph.nodes] == ["x", "inner.first", "output"]
    assert len(graphs[0].nodes) > 50


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, RecursionError])
def test_an_error_leaves_nothing_replaced(error):
    call, getattribute, step = nn.Module.__call__, nn.Module.__getattr__, one_step
    linear = nn.Linear(2, 2)

    class Failing(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = linear

        def forward(self, x):
            self.linear(one_step(x))
            raise error

    with pytest.raises(error):
        fx.symbolic_trace(Failing())
    assert nn.Module.__call__ is call and nn.Module.__getattr__ is getattribute
    assert one_step is step
    assert not fx._symbolic_trace.is_fx_tracing()
    assert linear(taeda.ones(1, 2)).shape == (1, 2)


def test_an_annotation_is_its_threads():
    from taeda.fx import traceback

    seen = []

    def other():
        seen.append(({**traceback.current_meta}, traceback.should_preserve_node_meta))
        traceback.set_stack_trace(["of no scope"])
        with traceback.annotate({"stage": 2}):
            seen.append(traceback.get_current_meta()["custom"])

    with traceback.annotate({"stage": 1}):
        in_threads(other)
        assert traceback.current_meta == {"custom": {"stage": 1}}
        assert traceback.should_preserve_node_meta
        nodes = fx.symbolic_trace(lambda x: x + 1).graph.nodes
    assert seen == [({}, False), {"stage": 2}]
    assert [node.meta["custom"] for node in nodes] == [{"stage": 1}] * 3
