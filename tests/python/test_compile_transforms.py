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
