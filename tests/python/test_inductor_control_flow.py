"""Control flow in graphs that are compiled: regions have plans of their own."""

import gc

import pytest
from taeda._inductor import compile
from taeda.fx.aot import aot_function
from taeda.fx.experimental.proxy_tensor import make_fx
from taeda.utils._pytree import tree_leaves

import taeda as t
from taeda.fx.control_flow import associative_scan, cond, map, scan, while_loop


def compiled(f, *inputs, mode="symbolic", **options):
    return compile(make_fx(f, tracing_mode=mode)(*inputs), inputs, **{"native": "never"} | options)


def same(got, want):
    pairs = list(zip(tree_leaves(got), tree_leaves(want), strict=True))
    return all(t.equal(a, b) and a.stride() == b.stride() for a, b in pairs)


def kernels(program):
    return [report["kernels"] for report in program.report()]


def branch(x):
    return cond(x.sum() > 0, lambda v: (v.sin() * 2 + 1).relu(), lambda v: v.tanh(), (x + 1,)) * 2


def loop(x):
    def body(i, a):
        return i + 1, t.tanh(a @ a.t() + 1) @ a * 0.5

    return while_loop(lambda i, a: i < 4, body, (t.tensor(0), x))[1] * 2


def recurrence(x):
    def step(carry, v):
        return t.sigmoid(carry * 0.5 + v) * 2, (carry * v).exp()

    return scan(step, t.zeros(x.shape[1]), x)


def rows(x):
    return map(lambda v: (v.softmax(-1) * 2).sin(), x)


def products(x):
    return associative_scan(lambda a, b: a * b * 0.5, x, 0, combine_mode="generic")


def nested(x):
    def first(v):
        return cond(v[0, 0] > 1, lambda u: u.exp() * 2 + 1, lambda u: u.cos() - 1, (v * 2,))

    return cond(x.sum() > 0, first, lambda v: v.clone(), (x,))


def identity(x):
    return cond(x.sum() > 0, lambda v: v * 1, lambda v: v + x, (x,)).sin()


PROGRAMS = [branch, loop, recurrence, rows, products, nested, identity]


@pytest.mark.parametrize("mode", ["fake", "symbolic"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_both_ways(program, mode):
    x = t.randn(5, 3)
    run = compiled(program, x, mode=mode)
    assert sum(kernels(run)) > 0
    sizes = [(5, 3)] if mode == "fake" else [(5, 3), (8, 3), (4, 6)]
    for shape in sizes:
        for sign in (1, -1):
            v = t.rand(shape) * sign
            assert same(run(v), program(v))


def test_each_region_is_fused():
    x = t.randn(4, 3)
    # What lies before, one per branch, and what lies behind.
    assert kernels(compiled(branch, x)) == [1, 1, 1, 1]
    assert kernels(compiled(rows, x)) == [1]
    assert kernels(compiled(recurrence, x)) == [1, 1]


def test_regions_have_native_kernels():
    x = t.randn(4, 3)
    run = compiled(branch, x, native="only", check=True)
    assert same(run(x.abs()), branch(x.abs())) and same(run(-x.abs()), branch(-x.abs()))


def twice(x):
    return cond(x.sum() > 0, lambda v: v.sin() * 2, lambda v: v.cos() + 1, (t.cat([x, x]),))


def flat(x):
    return cond(x.sum() > 0, lambda v: v.sin() * 2, lambda v: v.cos() + 1, (x.reshape(-1),))


# Sizes of operands that tell the symbols (2*s0), and that do not (s0*s1): such regions are
# interpreted.
@pytest.mark.parametrize(("program", "expected"), [(twice, 4), (flat, 1)])
def test_sizes_of_operands(program, expected):
    run = compiled(program, t.randn(4, 3))
    assert sum(kernels(run)) == expected
    for shape in ((4, 3), (7, 3), (2, 5)):
        for sign in (1, -1):
            x = t.rand(shape) * sign
            assert same(run(x), program(x))


def test_sizes_that_data_tells_inside():
    def f(x):
        def picked(v):
            return (v > 0.5).nonzero().sum() * 2

        return cond(x.sum() > 0, picked, lambda v: v.long().sum(), (x,)) + 1

    run = compiled(f, t.rand(6), mode="fake")
    for x in (t.rand(6), -t.rand(6)):
        assert same(run(x), f(x))


@pytest.mark.parametrize("program", [branch, rows, nested, identity], ids=lambda f: f.__name__)
def test_gradients(program):
    def backend(gm, inputs):
        return compile(gm, inputs, native="never")

    x = t.rand(5, 3)
    for sign in (1, -1):
        own, theirs = (x * sign).requires_grad_(), (x * sign).requires_grad_()
        aot_function(program, backend)(own).sum().backward()
        program(theirs).sum().backward()
        t.testing.assert_close(own.grad, theirs.grad)


def test_errors_inside():
    def f(x, i):
        return cond(x.sum() > 0, lambda v, j: v[j] * 2, lambda v, j: v[:2] + 1, (x, i))

    x, i = t.ones(4), t.tensor([1, 3])
    run = compiled(f, x, i, mode="fake")
    assert same(run(x, i), f(x, i))
    with pytest.raises(IndexError, match="out of bounds"):
        run(x, t.tensor([1, 4]))
    assert same(run(-x, t.tensor([1, 4])), f(-x, t.tensor([1, 4])))


def test_metadata_survives_collections():
    thresholds = gc.get_threshold()
    try:
        for first in range(1, 60):
            gc.set_threshold(first, 5, 5)
            graph = make_fx(identity, tracing_mode="symbolic")(t.randn(5, 3)).graph
            assert all("val" in node.meta for node in graph.find_nodes(op="placeholder"))
    finally:
        gc.set_threshold(*thresholds)


def test_functions_that_are_given_numbers():
    def f(x):
        return map(lambda v, by: v * by + 1, x, 2.5)

    x = t.randn(3, 4)
    assert t.equal(compiled(f, x)(x), f(x))
    x.requires_grad_()
    run = aot_function(f, lambda gm, inputs: compile(gm, inputs, native="never"))
    assert t.equal(t.autograd.grad(run(x).sum(), x)[0], t.full((3, 4), 2.5))


@pytest.mark.parametrize("size", [1, 2, 7])
def test_strides_of_an_associative_scan_are_eagers(size):
    def f(x):
        return associative_scan(lambda a, b: a + b, x, 1, combine_mode="generic")

    def behind(x):
        y = f(x)
        return (y @ y.transpose(1, 2)).softmax(-1) @ y

    x = t.randn(2, size, 3)
    assert same(compiled(f, x)(x), f(x))
    ahead = aot_function(behind, lambda gm, i: compile(gm, i, native="never"), dynamic=True)
    for g in (compiled(behind, x), ahead):
        t.testing.assert_close(g(x), behind(x))
