"""Control flow in programs that are traced ahead of time, compiled, with gradients."""

import pytest
from taeda.fx.aot import (
    aot_export_module,
    aot_function,
    default_partition,
    make_boxed_func,
    min_cut_rematerialization_partition,
)

import taeda as t
from taeda.fx.control_flow import associative_scan, cond, map, scan, while_loop

W = t.randn(3)


def kernels(gm, inputs):
    return make_boxed_func(t._inductor.compile(gm, inputs, native="never"))


def branches(x, y):
    doubled = x * 2

    def first(v):
        u = v + 4
        u.add_(5)
        return u.cos() + doubled * y

    return cond(x.sum() > 0, first, lambda v: v.sin() * W, (x,)) + 3


def nested_branches(x, y):
    def first(v):
        return cond(v[0] > 1, lambda u: u * y, lambda u: u + x, (v.exp(),))

    return cond(x.sum() > 0, first, lambda v: v.clone(), (x,))


def loop(x, y):
    count = t.tensor(0)
    return while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * y + 1), (count, x))[1] * 2


def running_sum(x, y):
    return scan(lambda c, v: (c + v * y.sum(), c * v), t.zeros(()), x)[1]


def parallel_sum(x, y):
    return associative_scan(lambda a, b: a + b, x * y, 0, combine_mode="generic")


def slices(x, y):
    return map(lambda v, u: v * u + 1, x, y)


def sizes_inside(x, y):
    return cond(x.sum() > 0, lambda v: v * x.shape[0], lambda v: v + y, (x,))


PROGRAMS = [
    branches,
    nested_branches,
    loop,
    running_sum,
    parallel_sum,
    slices,
    sizes_inside,
]


@pytest.mark.parametrize("compiler", [kernels, lambda gm, _: make_boxed_func(gm.forward)])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(program, dynamic, compiler):
    compiled = aot_function(program, compiler, dynamic=dynamic)
    x, y = t.tensor([1.0, 2.0, -0.5]), t.tensor([0.5, -1.0, 2.0])
    for sign in (1, -1, 1):
        assert t.equal(compiled(sign * x, y), program(sign * x, y))


@pytest.mark.parametrize("cut", [default_partition, min_cut_rematerialization_partition])
@pytest.mark.parametrize("program", [branches, nested_branches, running_sum, slices])
def test_gradients(program, cut):
    def own_cut(joint, inputs, **options):
        return cut(joint, inputs, **options)

    values = t.tensor([1.0, 2.0, -0.5]), t.tensor([0.5, -1.0, 2.0])
    for partition in (cut, own_cut):
        own = [v.clone().requires_grad_() for v in values]
        theirs = [v.clone().requires_grad_() for v in values]
        aot_function(program, kernels, partition_fn=partition)(*own).sum().backward()
        program(*theirs).sum().backward()
        for a, b in zip(own, theirs):
            # Eager runs one branch; a graph has gradients of both.
            t.testing.assert_close(a.grad, t.zeros(3) if b.grad is None else b.grad)


def test_a_branch_that_writes_to_what_it_is_given():
    def f(x):
        return cond(x.sum() > 0, lambda v: v.add_(1).clone(), lambda v: v * 2, (x,))

    with pytest.raises(RuntimeError, match="input mutation"):
        aot_function(f, kernels)(t.ones(3))


class Branching(t.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = t.nn.Linear(3, 3)

    def forward(self, x):
        return (cond(x.sum() > 0, lambda v: self.linear(v), lambda v: v.sin(), (x,)) + 1,)


@pytest.mark.parametrize("pre_dispatch", [False, True])
def test_exported_modules(pre_dispatch):
    mod, x = Branching(), t.ones(2, 3)
    gm, _ = aot_export_module(mod, [x], trace_joint=False, pre_dispatch=pre_dispatch)
    targets = [n.target for n in gm.true_graph_0.graph.nodes if n.op == "call_function"]
    assert (t.ops.aten.linear.default in targets) is pre_dispatch
    for v in (x, -x):
        assert t.equal(gm(*mod.parameters(), v)[0], mod(v)[0])


def test_what_a_branch_computes_for_nothing_is_no_part_of_an_export():
    class Wastes(t.nn.Module):
        def forward(self, x):
            def first(v):
                unused = v + 4
                unused.add_(5)
                return v.cos()

            return (cond(x.sum() > 0, first, lambda v: v.sin(), (x,)),)

    gm, _ = aot_export_module(Wastes(), [t.ones(3)], trace_joint=False)
    nodes = [n for n in gm.true_graph_0.graph.nodes if n.op == "call_function"]
    assert [n.target for n in nodes] == [t.ops.aten.cos.default]


def test_an_exported_joint_graph():
    class Loss(Branching):
        def forward(self, x):
            return super().forward(x)[0].sum()

    mod, x = Loss(), t.ones(2, 3)
    gm, _ = aot_export_module(mod, [x], trace_joint=True, output_loss_index=0)
    loss, *grads = gm(*mod.parameters(), x)
    assert t.equal(loss, mod(x))
    for got, want in zip(grads, t.autograd.grad(mod(x), list(mod.parameters()))):
        t.testing.assert_close(got, want)
    loss, *grads = gm(*mod.parameters(), -x)
    assert t.equal(loss, mod(-x)) and not any(grad.any() for grad in grads)


@pytest.mark.parametrize("backend", [kernels, lambda gm, _: make_boxed_func(gm.forward)])
@pytest.mark.parametrize("mode", ["pointwise", "generic"])
def test_an_associative_scan_of_any_length(mode, backend):
    def f(x, w):
        return associative_scan(lambda a, b: a * b * w, x, 0, combine_mode=mode).sin()

    compiled = aot_function(f, backend, dynamic=True)
    for length in (4, 9, 5, 2, 1):
        x = t.randn(length, 3, requires_grad=True)
        w = t.randn(3, requires_grad=True)
        want, have = f(x, w), compiled(x, w)
        assert t.allclose(have, want)
        wanted = t.autograd.grad(want.sum(), (x, w), allow_unused=True)
        given = t.autograd.grad(have.sum(), (x, w), allow_unused=True)
        for a, b in zip(given, wanted, strict=True):
            assert (a is None) == (b is None)  # nothing is combined with a single slice
            assert a is None or t.allclose(a, b, rtol=1e-4, atol=1e-5)
