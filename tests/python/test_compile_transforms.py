"""Function transforms inside of compiled programs: batches, derivatives, and what outlives them."""

import importlib
import os

import pytest
from under_test import NAME, t

func = importlib.import_module(f"{NAME}.func")
operators = f"{NAME}._higher_order_ops"
scan = importlib.import_module(f"{operators}.scan").scan
map_slices = importlib.import_module(f"{operators}.map").map

BACKENDS = ("eager", "aot_eager", "inductor")


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setenv("TAEDA_COMPILE_STRICT", os.environ.get("TAEDA_COMPILE_STRICT", "1"))
    t.compiler.reset()


# ---- batches of loops ----


def swept(rows):
    return scan(lambda carry, row: (carry + row, carry * row), t.zeros(3), rows)[1]


def mapped(rows):
    return map_slices(lambda row: row * 2, rows)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dims", [(0, 0), (0, 1), (1, 0), (0, -1)])
@pytest.mark.parametrize("function", [swept, mapped], ids=["scan", "map"])
def test_stacked_results_of_a_batch(function, dims, backend):
    def program(x):
        return t.vmap(function, in_dims=dims[0], out_dims=dims[1])(x)

    gradients = []
    for run in (program, t.compile(program, backend=backend, fullgraph=True)):
        x = t.linspace(0.5, 1.5, 24).reshape(2, 4, 3).requires_grad_()
        result = run(x)
        weights = t.arange(24.0).reshape(result.shape)
        (result * weights).sum().backward()
        gradients.append((result.detach(), x.grad))
    t.testing.assert_close(*gradients)


# ---- functions that outlive their transform ----


def pulled_back(x, y):
    _, pull = func.vjp(lambda q: q.sin(), x)
    t._dynamo.graph_break()
    return pull(y)[0]


def pulled_back_twice(x, y):
    _, pull = func.vjp(lambda q: q.sin(), x)
    first = pull(y)[0]
    t._dynamo.graph_break()
    return first + pull(y * 2)[0]


def break_in_the_argument(x, y):
    def doubled(y):
        t._dynamo.graph_break()
        return y * 2

    return func.vjp(lambda q: q.sin(), x)[1](doubled(y))[0]


def pushed_forward(x, y):
    _, push = func.linearize(lambda q: q.sin(), x)
    t._dynamo.graph_break()
    return push(y)


def returned(x, y):
    def make(x):
        return func.vjp(lambda q: q.sin(), x)[1]

    return t.compile(make, backend="eager")(x)(y)[0]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "program",
    (pulled_back, pulled_back_twice, break_in_the_argument, pushed_forward, returned),
    ids=lambda program: program.__name__,
)
def test_a_derivative_behind_a_break(program, backend):
    compiled = t.compile(program, backend=backend)
    outcomes = []
    for run in (program, compiled, compiled):
        x = t.tensor([0.3, 0.7], requires_grad=True)
        y = t.tensor([1.0, 2.0], requires_grad=True)
        result = run(x, y)
        result.sum().backward()
        outcomes.append((result.detach(), x.grad, y.grad))
    t.testing.assert_close(outcomes[1], outcomes[0])
    t.testing.assert_close(outcomes[2], outcomes[0])
