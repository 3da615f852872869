"""Autograd Functions that a trace cannot enter, in programs compiled ahead of time."""

import gc
import weakref

import pytest
from taeda._inductor import compile
from taeda.fx.aot import aot_function, aot_module, make_boxed_func

import taeda as t

COMPILERS = {
    "graph": lambda gm, _: make_boxed_func(gm.forward),
    "kernels": lambda gm, inputs: make_boxed_func(compile(gm, inputs, native="never")),
}
both = pytest.mark.parametrize("compiler", COMPILERS)


class NumpyCube(t.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return t.from_numpy(x.detach().numpy() ** 3)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return t.from_numpy(3 * x.detach().numpy() ** 2) * grad


class PlainThenNumpy(t.autograd.Function):
    """The backward alone reads data."""

    @staticmethod
    def forward(ctx, x, by):
        ctx.save_for_backward(x)
        ctx.by = by
        return x * by, x.sum(-1)

    @staticmethod
    def backward(ctx, grad, of_sum):
        (x,) = ctx.saved_tensors
        scale = ctx.by if float(x.detach().numpy().max()) > 0 else 0.0
        return grad * scale + of_sum[..., None], None


class Largest(t.autograd.Function):
    """Branches on data; an argument without a gradient and a result without one."""

    @staticmethod
    def forward(ctx, x, y):
        place = int(x.detach().numpy().argmax())
        ctx.place, ctx.size = place, x.numel()
        index = t.tensor(place)
        ctx.mark_non_differentiable(index)
        return x.flatten()[place] * 2, index

    @staticmethod
    def backward(ctx, grad, _):
        made = t.zeros(ctx.size)
        made[ctx.place] = 2 * grad
        return made, None


PROGRAMS = {
    "forward": lambda x: (NumpyCube.apply(x.sin()) * 2).exp(),
    "twice": lambda x: NumpyCube.apply(NumpyCube.apply(x) + 1).sum(),
    "backward": lambda x: PlainThenNumpy.apply(x * 2, 3.0),
    "branch": lambda x: Largest.apply(x.cos().flatten(), x.exp()),
    "beside a write": lambda x: NumpyCube.apply(x.clone().mul_(2)).add_(1),
}


def leaves(results):
    return list(results) if isinstance(results, tuple) else [results]


def gradient(results, x):
    total = sum((r * (i + 2)).sum() for i, r in enumerate(leaves(results)) if r.requires_grad)
    return t.autograd.grad(total, x)[0]


@both
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_and_gradients(name, dynamic, compiler):
    f = PROGRAMS[name]
    compiled = aot_function(f, COMPILERS[compiler], dynamic=dynamic)
    for seed in range(3):
        t.manual_seed(seed)
        x = t.randn(4, 5, requires_grad=True)
        want, have = f(x), compiled(x)
        for a, b in zip(leaves(want), leaves(have), strict=True):
            assert t.equal(a, b) and a.requires_grad == b.requires_grad
        assert t.equal(gradient(want, x), gradient(have, x))
        with t.no_grad():
            assert all(map(t.equal, leaves(f(x)), leaves(compiled(x))))


@both
def test_other_sizes(compiler):
    f = PROGRAMS["forward"]
    compiled = aot_function(f, COMPILERS[compiler], dynamic=True)
    for size in (3, 7, 2):
        x = t.randn(size, 5, requires_grad=True)
        assert t.equal(compiled(x), f(x))
        assert t.equal(gradient(compiled(x), x), gradient(f(x), x))


@both
def test_modules(compiler):
    class Model(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = t.nn.Linear(5, 3)

        def forward(self, x):
            return NumpyCube.apply(self.linear(x)).relu()

    model, x = Model(), t.randn(4, 5)
    compiled = aot_module(model, COMPILERS[compiler])
    for _ in range(2):
        want = t.autograd.grad(model(x).sum(), list(model.parameters()))
        have = t.autograd.grad(compiled(x).sum(), list(model.parameters()))
        assert all(map(t.allclose, want, have))


def test_calls_are_nodes_of_the_graphs():
    seen = []

    def compiler(gm, _):
        seen.append([str(n.target) for n in gm.graph.nodes if n.op == "call_function"])
        return make_boxed_func(gm.forward)

    x = t.randn(3, requires_grad=True)
    aot_function(PROGRAMS["forward"], compiler)(x).sum().backward()
    forward, backward = seen
    assert sum("taeda_callbacks.forward" in name for name in forward) == 1
    assert sum("taeda_callbacks.gradient" in name for name in backward) == 1
    assert any("sin" in name for name in forward)


@both
def test_second_backward(compiler):
    x = t.randn(3, requires_grad=True)
    out = aot_function(PROGRAMS["forward"], COMPILERS[compiler])(x).sum()
    (first,) = t.autograd.grad(out, x, retain_graph=True)
    (second,) = t.autograd.grad(out, x)
    assert t.equal(first, second)
    with pytest.raises(RuntimeError, match="second time"):
        t.autograd.grad(out, x)


@both
def test_what_a_call_saved_dies_with_its_graph(compiler):
    alive = []

    class Watched(NumpyCube):
        @staticmethod
        def forward(ctx, x):
            alive.append(weakref.ref(ctx))
            return NumpyCube.forward(ctx, x)

    compiled = aot_function(lambda x: Watched.apply(x * 2) * 3, COMPILERS[compiler])
    x = t.randn(3, requires_grad=True)
    out = compiled(x)
    gc.collect()
    assert sum(ref() is not None for ref in alive) == 1  # that of the trace is gone
    del out
    gc.collect()
    assert not any(ref() is not None for ref in alive)


def test_results_of_other_sizes_are_an_error():
    class Some(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return t.from_numpy(x.detach().numpy()[: int(x[0].item())].copy())

    compiled = aot_function(lambda x: Some.apply(x) + 1, COMPILERS["graph"])
    assert compiled(t.tensor([2.0, 1, 1])).tolist() == [3, 2]
    with pytest.raises(RuntimeError, match=r"Some gave .* of sizes \[1\] and was compiled for"):
        compiled(t.tensor([1.0, 1, 1]))


def test_errors_of_a_function_are_its_own():
    class Raises(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            raise ValueError("not today")

    with pytest.raises(ValueError, match="not today"):
        aot_function(lambda x: Raises.apply(x), COMPILERS["graph"])(t.ones(2))


def test_results_that_are_no_tensors_are_refused():
    class Number(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, float(x.detach().numpy().sum())

    with pytest.raises(NotImplementedError, match="gives float"):
        aot_function(lambda x: Number.apply(x), COMPILERS["graph"])(t.ones(2))


def test_writes_to_arguments_are_refused():
    class Writes(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.detach().numpy()
            ctx.mark_dirty(x)
            return x.mul_(2)

    with pytest.raises(NotImplementedError, match="writes to its arguments"):
        aot_function(lambda x: Writes.apply(x + 1), COMPILERS["graph"])(t.ones(2))
