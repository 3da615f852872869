"""Function transforms traced with symbols: a graph made at one size of the batch serves another."""

import importlib

import pytest
from under_test import NAME, t

func = importlib.import_module(f"{NAME}.func")
make_fx = importlib.import_module(f"{NAME}.fx.experimental.proxy_tensor").make_fx
F = importlib.import_module(f"{NAME}.nn.functional")
vmap, grad = func.vmap, func.grad


def energy(x):
    return (x.sin() * x).sum()


def rows(n, m):
    return t.linspace(-1, 1, n * m).reshape(n, m)


def line(n, m):
    return t.linspace(-1, 1, m)


PROGRAMS = {
    "gradients of examples": (vmap(grad(energy)), rows),
    "gradient of a batch": (grad(lambda x: vmap(energy)(x).sum()), rows),
    "jacrev": (func.jacrev(lambda x: x.sin() * x), line),
    "jacfwd": (func.jacfwd(lambda x: x.sin() * x), line),
    "jacobian of a gradient": (func.jacrev(grad(energy)), line),
    "the same for all": (vmap(lambda x: t.ones(3)), rows),
    "sizes": (vmap(lambda x: x.new_zeros(x.shape) + x), rows),
    "a view": (vmap(lambda x: x.view(-1, 1)), rows),
    "expand": (vmap(lambda x: x.expand(3, *x.shape)), rows),
    "roll": (vmap(lambda x: x.roll(1)), rows),
    "outer": (vmap(lambda x: t.outer(x, x)), rows),
    "einsum": (vmap(lambda x: t.einsum("i,i->", x, x)), rows),
    "indexing": (vmap(lambda x: x[t.tensor([0, 1])]), rows),
    "batches of batches": (lambda x: vmap(vmap(lambda a: a * a.sum()))(x[None].exp()), rows),
    "random": (vmap(lambda x: t.randn(2) * 0, randomness="different"), rows),
    "known numbers": (lambda x: t.tensor(3.0).new_zeros(x.shape) + x, rows),
    "known numbers, wider": (lambda x: t.tensor(2.0).expand(x.shape[0]) * x[:, 0], rows),
}

if NAME == "taeda":  # in PyTorch the size of the batch is fixed here
    PROGRAMS["embedding in each"] = (
        vmap(lambda x: F.embedding(t.tensor([1, 0]), x[:, None])),
        rows,
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_graph_serves_other_sizes(name):
    f, make = PROGRAMS[name]
    gm = make_fx(f, tracing_mode="symbolic")(make(4, 3))
    x = make(7, 5)
    got, expected = gm(x), f(x)
    assert got.shape == expected.shape
    assert t.allclose(got, expected, atol=1e-6)


def test_the_size_that_a_rule_gets_is_a_symbol():
    seen = []
    library = importlib.import_module(f"{NAME}.library")

    @library.custom_op("symbolic_transforms::twice", mutates_args=())
    def twice(x: t.Tensor, n: list[int]) -> t.Tensor:
        return x * 2

    twice.register_fake(lambda x, n: t.empty_like(x))

    @twice.register_vmap
    def _(info, in_dims, x, n):
        seen.append((info.batch_size, in_dims))
        return twice(x, n), in_dims[0]

    gm = make_fx(vmap(lambda x: twice(x, [1])), tracing_mode="symbolic")(rows(4, 3))
    size, in_dims = seen[0]
    assert isinstance(size, t.SymInt) and in_dims == (0, [None])
    assert gm(rows(7, 5)).shape == (7, 5)
