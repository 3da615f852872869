"""What is compiled belongs to equal functions together: layers, classes, limits, counted frames."""

import types

import pytest
from taeda._dynamo.testing import CompileCounter
from taeda._dynamo.utils import counters
from taeda._inductor import config as inductor_config

import taeda as t
from taeda import compiler, nn

X = t.ones(2, 3)


@pytest.fixture(autouse=True)
def _fresh():
    counters.clear()
    yield
    t._dynamo.reset()


class Layer(nn.Module):
    def __init__(self, scale=1):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.scale = scale

    def forward(self, x):
        return self.linear(x) * self.scale


def compile_in_place(layer, **options):
    layer.compile(**options)
    return layer


@pytest.mark.parametrize("compiled", [t.compile, compile_in_place])
def test_equal_layers_take_versions_of_each_other(compiled):
    count = CompileCounter()
    layers = [Layer() for _ in range(5)]
    calls = [compiled(layer, backend=count) for layer in layers]
    for x in (X, t.ones(4, 3), t.ones(5, 3)):
        for layer, call in zip(layers, calls, strict=True):
            t.testing.assert_close(call(x), layer.linear(x))
        assert count.frame_count == (1 if x is X else 2)
    other = Layer(2)
    t.testing.assert_close(compiled(other, backend=count)(X), other.linear(X) * 2)
    assert count.frame_count == 3
    with t.no_grad():
        calls[0](X)
    assert count.frame_count == 4


def test_what_keeps_versions_apart():
    def program(x):
        note()
        return x + 1

    note = compiler.disable(lambda: None)
    counts = [CompileCounter(), CompileCounter()]
    first = t.compile(program, backend=counts[0])
    first(X)
    assert counts[0].frame_count == 1
    others = [
        t.compile(program, backend=counts[1]),
        t.compile(program, backend=counts[1], dynamic=False),
        t.compile(program, backend=counts[1], isolate_recompiles=True),
    ]
    with inductor_config.patch(freezing=True):
        others.append(t.compile(program, backend=counts[1]))
    for number, other in enumerate(others, 1):
        other(X)
        assert counts[1].frame_count == number
    again = t.compile(program, backend=counts[0])
    again(X)
    assert counts[0].frame_count == 1  # behind the break, too

    unlike = t.compile(types.FunctionType(program.__code__, globals(), closure=program.__closure__))
    assert t.equal(unlike(X), X + 1)
    compiler.reset()
    first(X)
    assert counts[0].frame_count == 2


def test_each_compiled_function_has_a_limit_of_its_own():
    layers = [t.compile(Layer(n), backend="eager") for n in range(12)]
    for n, layer in enumerate(layers):
        t.testing.assert_close(layer(X), layer._orig_mod.linear(X) * n)
    assert not counters["recompile_limit"] and counters["stats"]["unique_graphs"] >= 3


def test_classes_whose_calls_are_compiled():
    count = CompileCounter()

    @t.compile(backend=count)
    class Doubled(nn.Module):
        def forward(self, x):
            return x * 2

    class More(Doubled):
        def forward(self, x):
            return super().forward(x) + 1

    assert t.equal(Doubled()(X), X * 2) and t.equal(More()(X), X * 2 + 1)
    hooked = Doubled()
    hooked.register_forward_hook(lambda module, args, out: out + 3)
    assert t.equal(hooked(x=X), X * 2 + 3)
    assert count.frame_count == 3

    @t.compile(backend=count)
    class Called:
        def __call__(self, x):
            return x - 1

    assert t.equal(Called()(X), X - 1) and count.frame_count == 4


def test_frames_are_counted():
    compiled = t.compile(lambda x: (x + 1, print(end=""), x * 2), backend="eager")
    for _ in range(2):
        compiled(X)
    assert counters["frames"] == {"total": 2, "ok": 2}
