"""Gradients of gradients of compiled functions go where eager's go; nothing is kept for them."""

import gc
import weakref

import pytest
from watched_programs import BACKENDS, check, leaf, looks

import taeda as t

PROGRAMS = []


def program(f):
    PROGRAMS.append(f)
    return f


# ---- what programs see ----


@program
def a_gradient_of_a_gradient(run):
    x = leaf(4)
    (g,) = t.autograd.grad(run(lambda x: (x**3).sin())(x).sum(), x, create_graph=True)
    (h,) = t.autograd.grad(g.sum(), x, create_graph=True)
    h.sum().backward()
    return looks(g, h, x.grad)


@program
def a_penalty_on_the_gradient(run):
    w, x = leaf(3, 3), leaf(2, 3)
    out = run(lambda w, x: (x @ w).tanh())(w, x)
    (g,) = t.autograd.grad(out.sum(), x, create_graph=True)
    (out.sum() + g.pow(2).sum()).backward()
    return looks(out, g, w.grad, x.grad)


@program
def the_gradient_of_a_tangent(run):
    x, v = leaf(3), leaf(3)
    out = run(lambda x: x * x * 2)(x)
    (g,) = t.autograd.grad(out, x, v, create_graph=True)
    g.sum().backward()
    return looks(g, v.grad, x.grad)


@program
def gradients_of_gradients_that_no_loss_reaches(run):
    x, y = leaf(3), leaf(3)
    a, b = run(lambda x, y: (x.exp(), y.sin() * x))(x, y)
    first = t.autograd.grad(a.sum(), [x, y], create_graph=True, allow_unused=True)
    (g, _) = t.autograd.grad(b.sum(), [x, y], create_graph=True)
    second = t.autograd.grad(g.sum(), [x, y], allow_unused=True)
    return looks(*first, *second)


@program
def gradients_of_gradients_through_a_written_input(run):
    def f(y, w):
        y.mul_(w)
        return y.sin()

    x, w = leaf(3), leaf(3)
    y = x * 2
    out = run(f)(y, w)
    (g,) = t.autograd.grad(out.sum(), x, create_graph=True)
    return looks(g, *t.autograd.grad(g.sum(), (x, w)))


@program
def gradients_of_gradients_of_a_parameter_that_is_written(run):
    def f(p, x):
        with t.no_grad():
            p.clamp_(-0.5, 0.5)
        return (p * x) ** 3

    p, x = leaf(3), leaf(3)
    (g,) = t.autograd.grad(run(f)(p, x).sum(), x, create_graph=True)
    return looks(g, *t.autograd.grad(g.sum(), (p, x)))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_programs_see_the_same(program, backend):
    check(program, backend)


# ---- gradients of gradients go where eager's go ----


class Doubled(t.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * y * 2


def unit(x):
    with t.no_grad():
        length = x.norm()
    return (x / length) ** 3


def hooked(x):
    h = x * x
    h.register_hook(lambda g: g * 3)
    return h * h


def written(x):
    y = x * 2
    y.mul_(x)
    return y.sin()


def dropped(x):
    t.nn.functional.dropout(x, 0.5)
    return t.nn.functional.dropout(x * x * x, 0.5) * x


def parts(x):
    y = x * x
    return y.view(-1)[1:].exp(), y.sum()


def attended(x):
    x = x.view(1, 1, -1, 1)
    return t.nn.functional.scaled_dot_product_attention(x, x, x)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.detach() * x * x,
        lambda x: x.data * x**3,
        lambda x: (x - x.max().detach()).exp(),
        lambda x: Doubled.apply(x).sin(),
        unit,
        hooked,
        written,
        dropped,
        parts,
        attended,
    ],
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_three_orders(backend, f):
    def orders(function, x):
        t.manual_seed(7)
        out = function(x)
        out = out if isinstance(out, tuple) else (out,)
        (g,) = t.autograd.grad([o.sum() for o in out], x, create_graph=True)
        drawn = t.rand(2)  # nothing is drawn for gradients
        (h,) = t.autograd.grad((g * g).sum(), x, create_graph=True)
        (third,) = t.autograd.grad(h.sum(), x)
        return [*out, g, h, third, drawn]

    x = t.tensor([0.5, 1.5, -1.0], requires_grad=True)
    for got, want in zip(orders(BACKENDS[backend](f), x), orders(f, x), strict=True):
        assert t.allclose(got, want)


def test_the_program_of_a_gradient_writes_to_nothing():
    def f(x, statistics):
        statistics.mul_(0.9).add_(x.detach().mean(0) * 0.1)
        return (x - statistics) ** 3

    def second(function):
        x, statistics = leaf(4, 3), t.zeros(3)
        (g,) = t.autograd.grad(function(x, statistics).sum(), x, create_graph=True)
        g.pow(2).sum().backward()
        return statistics, x.grad

    for run in BACKENDS.values():
        for got, want in zip(second(run(f)), second(f), strict=True):
            assert t.allclose(got, want)


def test_a_gradient_of_a_gradient_under_autocast():
    def f(x, w):
        return (x @ w).float().sin()

    def second(function):
        x, w = leaf(4, 4), leaf(4, 4)
        with t.autocast("cpu", dtype=t.bfloat16):
            out = function(x, w)
        (g,) = t.autograd.grad(out.sum(), x, create_graph=True)
        g.pow(2).sum().backward()
        return g, x.grad, w.grad

    for run in BACKENDS.values():
        for got, want in zip(second(run(f)), second(f), strict=True):
            assert got.dtype == want.dtype and t.allclose(got, want, atol=1e-2)


def test_a_program_that_is_traced_again_is_freed():
    def f(x):
        return x.detach() * x**2

    x = leaf(3)
    kept = weakref.ref(f)
    (g,) = t.autograd.grad(BACKENDS["nop"](f)(x).sum(), x, create_graph=True)
    del f, g
    gc.collect()
    assert kept() is None
