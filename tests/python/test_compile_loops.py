"""Loops and scans inside compiled programs: one graph, with results and gradients as without."""

import importlib

import pytest
from compiled_case import is_same
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
operators = importlib.import_module(f"{NAME}._higher_order_ops")
counters = importlib.import_module(f"{NAME}._dynamo.utils").counters
while_loop, scan, map_slices = operators.while_loop, operators.scan, operators.map
associative_scan = operators.associative_scan

OPTIONS = {"eager": {}, "aot_eager": {}, "inductor": {"options": {"native": "never"}}}


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setenv("TAEDA_COMPILE_STRICT", "1")
    t.compiler.reset()
    counters.clear()


@pytest.fixture(params=OPTIONS)
def compiled(request):
    def compile_with(program, **options):
        return t.compile(program, backend=request.param, **OPTIONS[request.param], **options)

    return compile_with


def carrying_what_it_finds_around(x, w):
    # `x` is the state of the first step and a constant of every one.
    return while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * w + x), (t.tensor(0), x))[1]


def of_nested_states(x, w):
    state = {"count": t.tensor(0), "pair": (x, [x * 2])}

    def step(state):
        a, (b,) = state["pair"]
        return ({"count": state["count"] + 1, "pair": (b * w, [a + b.shape[0]])},)

    (state,) = while_loop(lambda state: state["count"] < 4, step, (state,))
    return state["pair"][0] + state["pair"][1][0]


def scanning(x, w):
    last, outs = scan(lambda c, a: (c * w + a.sin(), {"c": c + a, "a": a * 2}), x[0] * 0, x)
    return last.sum() + outs["c"] * outs["a"]


def scanning_backwards(x, w):
    def combine(carry, slices):
        total, count = carry
        a, b = slices
        return (total + a * w[0] * b, count + 1), total * b

    carry = (x[:, 0] * 0, t.zeros(()))
    (total, count), outs = scan(combine, carry, (x, x.cos()), dim=1, reverse=True)
    return outs * count + total[:, None]


def mapping(x, w):
    results = map_slices(lambda xs, a: (xs[0] * a, xs[1].sum() + w), (x, x.exp()), w * 2)
    return results[0] + results[1]


def prefixes(x, w):
    return associative_scan(lambda a, b: a * b + 0 * w, x, dim=0, combine_mode="generic")


def pointwise_prefixes(x, w):
    found = associative_scan(
        lambda a, b: {"u": a["u"] + b["u"], "v": a["v"] * b["v"]},
        {"u": x, "v": x.cos()},
        1,
        reverse=True,
    )
    return found["u"] * found["v"] * w


def a_loop_inside_of_a_scan(x, w):
    def combine(carry, a):
        def step(i, z):
            return i + 1, t.cond(z.sum() > 0, lambda z: z * w, lambda z: z - w, (z,))

        _, b = while_loop(lambda i, z: i < 2, step, (t.zeros((), dtype=t.int64), a))
        return carry + b, b.sin()

    total, outs = scan(combine, x[0] * 0, x)
    return outs + total


PROGRAMS = [
    carrying_what_it_finds_around,
    of_nested_states,
    scanning,
    scanning_backwards,
    mapping,
    prefixes,
    pointwise_prefixes,
    a_loop_inside_of_a_scan,
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_results_of_several_sizes(compiled, program):
    run = compiled(program, fullgraph=True)
    w = t.tensor([0.5, -1.5, 2.0])
    for size in (3, 4, 5):
        x = t.arange(3.0 * size).reshape(size, 3).sin()
        t.testing.assert_close(run(x, w), program(x, w))
    assert counters["stats"]["unique_graphs"] <= 2


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients(compiled, program):
    given = t.arange(12.0).reshape(4, 3).sin(), t.tensor([0.5, -1.5, 2.0])
    found = []
    for run in (program, compiled(program, fullgraph=True)):
        x, w = (value.clone().requires_grad_() for value in given)
        result = run(x, w)
        result.sum().backward()
        found.append([result.detach(), x.grad, w.grad])
    for one, other in zip(*found, strict=True):
        t.testing.assert_close(one, other)


def test_modules_are_trained_through_a_scan(compiled):
    class Cell(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(6, 3)

        def forward(self, x):
            def combine(h, a):
                h = self.linear(t.cat([h, a], 1)).tanh()
                return h, h.clone()

            return scan(combine, x.new_zeros(x.shape[1], 3), x)[1]

    model = Cell()
    x = t.arange(24.0).reshape(4, 2, 3).sin()
    found = []
    for run in (model, compiled(model, fullgraph=True)):
        model.zero_grad()
        run(x).square().sum().backward()
        found.append([p.grad.clone() for p in model.parameters()])
    for one, other in zip(*found, strict=True):
        t.testing.assert_close(one, other)


REFUSED = {
    "result": lambda x: while_loop(lambda z: z.sum() < 3, lambda z: z, (x,)),
    "structure": lambda x: while_loop(lambda z: z.sum() < 3, lambda z: (z + 1, z), (x,)),
    "shape": lambda x: while_loop(lambda z: z.sum() < 3, lambda z: (z[:2] + 1,), (x,)),
    "predicate": lambda x: while_loop(lambda z: z < 3, lambda z: (z + 1,), (x,)),
    "carry": lambda x: scan(lambda c, a: (c[:0] + 1, a * 2), x, x),
    "mapped": lambda x: map_slices(lambda a: 3, x),
    "function": lambda x: associative_scan(None, x, 0),
}


@pytest.mark.parametrize("program", REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_refused_as_without_compilation(compiled, program):
    x = t.zeros(3)
    with pytest.raises(Exception) as plain:
        program(x)
    with pytest.raises(plain.type) as found:
        compiled(program)(x)
    assert str(found.value).split("\n")[0] == str(plain.value).split("\n")[0]


def test_a_loop_that_carries_integers_runs_as_it_is(compiled):
    def program(x):
        n, y = while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * 2), (0, x + 1))
        return y * n

    assert is_same(compiled(program)(t.ones(2)), program(t.ones(2)))


def test_a_function_that_writes_to_the_program_runs_as_it_is(compiled):
    seen = []

    def program(x):
        def step(z):
            seen.append(1)
            return (z + 1,)

        return while_loop(lambda z: z.sum() < 5, step, (x,))[0] * 2

    assert is_same(compiled(program)(t.zeros(2)), program(t.zeros(2)))
    assert len(seen) == 6
