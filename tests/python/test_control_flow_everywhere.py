"""Every control-flow operator in every place: eager, gradients, transforms, graphs, programs.

Each function is compared with a plain Python loop. Its functions take `w` from around them.
"""

import functools
import io

import pytest
from taeda._higher_order_ops import associative_scan, map, scan, while_loop
from taeda.fx.experimental.proxy_tensor import make_fx
from taeda.utils._pytree import tree_leaves

import taeda
from taeda.autograd import forward_ad
from taeda.export import export, load, save
from taeda.func import grad, jvp, vmap


# ---- operators, and what they stand for ----
def branch(x, w):
    return taeda.cond(x.sum() > 2, lambda a: (a * w).sin(), lambda a: a + w, (x,))


def plain_branch(x, w):
    return taeda.where(x.sum() > 2, (x * w).sin(), x + w)


def nested_branch(x, w):
    def inner(a):
        return taeda.cond(w.sum() > 1, lambda b: b * w * x, lambda b: b - w, (a,))

    return taeda.cond(x.sum() > 2, inner, lambda a: (a * w).cos(), (x,))


def plain_nested_branch(x, w):
    inner = taeda.where(w.sum() > 1, x * w * x, x - w)
    return taeda.where(x.sum() > 2, inner, (x * w).cos())


def loop(x, w):
    start = taeda.zeros((), dtype=taeda.int64)
    return while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, (a * w).sin() + x), (start, x))[1]


def plain_loop(x, w):
    a = x
    for _ in range(3):
        a = (a * w).sin() + x
    return a


def loop_on_values(x, w):
    return while_loop(lambda a: a.sum() < 9 + w.sum(), lambda a: (a + 1 + w.abs(),), (x,))[0]


def plain_loop_on_values(x, w):
    a = x
    for _ in range(8):  # as many as the examples need
        a = taeda.where(a.sum() < 9 + w.sum(), a + 1 + w.abs(), a)
    return a


def scanned(x, w):
    carry, out = scan(lambda c, a: ((c * w + a).sin(), c * a), x * 0, taeda.stack([x, w, x * w]))
    return carry + out.sum(0)


def plain_scan(x, w):
    carry, total = x * 0, 0
    for a in (x, w, x * w):
        carry, total = (carry * w + a).sin(), total + carry * a
    return carry + total


def mapped(x, w):
    return map(lambda a, b: (a * w).sin() + b, taeda.stack([x, w, x * w]), x).sum(0)


def plain_map(x, w):
    return sum((a * w).sin() + x for a in (x, w, x * w))


def prefixes(x, w):
    rows = taeda.stack([x, w, x * w, x + 1])
    return associative_scan(lambda a, b: a * b * w, rows, 0, combine_mode="generic")[-1]


def plain_prefixes(x, w):
    return x * w * w * (x * w) * w * (x + 1) * w


OPERATORS = {
    "cond": (branch, plain_branch),
    "cond inside cond": (nested_branch, plain_nested_branch),
    "while_loop": (loop, plain_loop),
    "while_loop on values": (loop_on_values, plain_loop_on_values),
    "scan": (scanned, plain_scan),
    "map": (mapped, plain_map),
    "associative_scan": (prefixes, plain_prefixes),
}


# ---- places ----
def gradient(f):
    return grad(lambda x, w: f(x, w).square().sum(), argnums=(0, 1))


def backward(f):
    def run(x, w):
        x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
        return taeda.autograd.grad(f(x, w).square().sum(), (x, w))

    return run


def second(f):
    return gradient(lambda x, w: sum(gradient(f)(x, w)))


def pushed(f):
    return lambda x, w: jvp(f, (x, w), (w, x))


def forward_mode(f):
    def run(x, w):
        with forward_ad.dual_level():
            dual = f(forward_ad.make_dual(x, w), forward_ad.make_dual(w, x))
            return tuple(forward_ad.unpack_dual(dual))

    return run


def over_both(f):
    return lambda x, w: vmap(f)(taeda.stack([x, w, x * 2]), taeda.stack([w, x, w]))


def over_first(f):
    return lambda x, w: vmap(f, (0, None))(taeda.stack([x, w, x * 2]), w)


def over_second(f):
    return lambda x, w: vmap(f, (None, 1), 1)(x, taeda.stack([w, x, w], 1))


def twice(f):
    return lambda x, w: vmap(vmap(f, (None, 0)), (0, None))(
        taeda.stack([x, w]), taeda.stack([w, x])
    )


def itself(f):
    return f


PLACES = {
    "itself": itself,
    "grad": gradient,
    "autograd": backward,
    "grad of grad": second,
    "jvp": pushed,
    "forward mode": forward_mode,
    "vmap": over_both,
    "vmap of the operand": over_first,
    "vmap of the closure": over_second,
    "vmap of vmap": twice,
    "vmap of grad": lambda f: over_both(gradient(f)),
    "grad of vmap": lambda f: gradient(over_second(f)),
    "vmap of jvp": lambda f: over_first(pushed(f)),
}

X = taeda.tensor([0.5, 1.5, 1.0], dtype=taeda.float64)
W = taeda.tensor([0.25, 0.5, 0.75], dtype=taeda.float64)
OTHERS = [(X, W), (W, X), (-X, W)]


def same(got, expected):
    pairs = zip(tree_leaves(got), tree_leaves(expected), strict=True)
    return all(taeda.allclose(a, b) for a, b in pairs)


def on_operator_and_place(test, places=PLACES):
    test = pytest.mark.parametrize("place", places.values(), ids=places)(test)
    return pytest.mark.parametrize(("f", "plain"), OPERATORS.values(), ids=OPERATORS)(test)


@on_operator_and_place
def test_eager(f, plain, place):
    for given in OTHERS:
        assert same(place(f)(*given), place(plain)(*given))


@pytest.mark.slow
@on_operator_and_place
@pytest.mark.parametrize("mode", ["real", "fake"])
def test_graphs(f, plain, place, mode):
    module = make_fx(place(f), tracing_mode=mode)(X, W)
    module.graph.lint()
    for given in OTHERS:
        assert same(module(*given), place(plain)(*given))


class Holding(taeda.nn.Module):
    """Takes the second argument from a parameter."""

    def __init__(self, f):
        super().__init__()
        self.f = f
        self.w = taeda.nn.Parameter(W.clone())

    def forward(self, x):
        return self.f(x, self.w)


# Autograd that a module starts itself cannot be exported, whatever it differentiates.
EXPORTED = {
    name: place for name, place in PLACES.items() if name not in ("autograd", "forward mode")
}


@pytest.mark.sampled(3)
@functools.partial(on_operator_and_place, places=EXPORTED)
def test_programs(f, plain, place):
    program = export(Holding(place(f)), (X,))
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    for module in (program.module(), load(file).module()):
        for x, _ in OTHERS:
            assert same(module(x), place(plain)(x, W))
