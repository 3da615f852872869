"""What is compiled belongs to equal functions together: layers, classes, limits, counted frames."""

import gc
import types
import weakref

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


def doubled(x):
    return x * 2


def test_a_function_that_is_compiled_anew_at_each_call():
    count = CompileCounter()
    for _ in range(4):
        assert t.equal(t.compile(doubled, backend=count)(X), X * 2)
    layer = Layer(2)
    for _ in range(3):
        t.compile(layer.forward, backend=count)(X)
    assert count.frame_count == 2
    t._dynamo.reset()
    t.compile(doubled, backend=count)(X)
    assert count.frame_count == 3


def test_a_closure_that_is_made_anew_reads_its_own_cells():
    count = CompileCounter()

    def step_of(layer):
        return t.compile(lambda x: layer(x).sum(), backend=count)

    for _ in range(3):
        layer = nn.Linear(3, 3)
        step_of(layer)(X).backward()
        t.testing.assert_close(layer.bias.grad, t.full((3,), 2.0))
    assert count.frame_count == 1


def test_a_closure_that_is_made_anew_writes_its_own_cells():
    count = CompileCounter()

    def counter():
        calls = 0

        @t.compile(backend=count)
        def step(x):
            nonlocal calls
            calls += 1
            t._dynamo.graph_break()
            return x * calls

        return step, lambda: calls

    for _ in range(3):
        step, told = counter()
        assert t.equal(step(X), X) and told() == 1
        assert t.equal(step(X), X * 2) and told() == 2
    assert count.frame_count == 3  # once for the first number, once for others


def test_frames_behind_a_break_belong_to_their_own_functions():
    def program(k):
        def inner(x):
            y = x * k
            t._dynamo.graph_break()
            return y + k

        return lambda x: inner(x) * k

    for k in (2, 3, 4, 2):
        function = program(k)
        assert t.equal(t.compile(function, backend="eager")(X), function(X))


def test_sizes_and_numbers_of_functions_that_are_made_anew_become_symbols():
    count = CompileCounter()
    for size in (2, 3, 4, 5):
        x = t.ones(size)
        assert t.equal(t.compile(doubled, backend=count)(x), x * 2)
    for k in (2, 3, 4, 5):
        assert t.equal(t.compile(lambda x, k=k: x + k, backend=count)(X), X + k)
    assert count.frame_count == 4


def test_functions_of_other_globals_have_versions_of_their_own():
    code = compile("def scaled(x): return x * K", "scaled.py", "exec")
    for k in (2, 3):
        names = {"K": k}
        exec(code, names)
        assert t.equal(t.compile(names["scaled"], backend="eager")(X), X * k)


def test_what_a_closure_held_ends_with_it():
    def program():
        layer, held = nn.Linear(3, 3), t.ones(3)
        step = t.compile(lambda x: layer(x) + held)
        step(X).sum().backward()
        return weakref.ref(layer), weakref.ref(held), weakref.ref(step)

    references = program()
    gc.collect()
    assert [reference() for reference in references] == [None] * 3


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
