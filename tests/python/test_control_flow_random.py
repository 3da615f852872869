"""Gradients of control flow whose functions draw random numbers: those of the numbers drawn."""

import pytest
from taeda._inductor import compile
from taeda.fx.aot import (
    aot_function,
    default_partition,
    min_cut_rematerialization_partition,
)

import taeda as t
import taeda.nn.functional as F
from taeda.fx.control_flow import cond, map, scan, while_loop


def interpreted(gm, inputs):
    return compile(gm, inputs, native="never")


def branch(x):
    return cond(x.sum() > -100, lambda v: F.dropout(v, 0.5) * 2, lambda v: v * F.dropout(v), (x,))


def nested(x):
    def outer(v):
        return cond(v.sum() > -100, lambda u: F.dropout(u), lambda u: u * 1, (F.dropout(v, 0.1),))

    return cond(x.sum() > -100, outer, lambda v: v * 1, (x,))


def slices(x):
    return map(lambda v: F.dropout(v, 0.5), x)


def channels(x):
    return map(lambda v: F.dropout1d(v[None, :, None], 0.5)[0, :, 0], x)


def steps(x):
    carry, outputs = scan(lambda c, v: (c + F.dropout(v, 0.5), F.dropout(c + v)), t.zeros(6), x)
    return outputs + carry


def loop(x):
    def body(i, v):
        return i + 1, F.dropout(v, 0.3) + 1

    return while_loop(lambda i, v: i < 3, body, (t.tensor(0), x))[1]


PROGRAMS = [branch, nested, slices, channels, steps, loop]


def run(program, seed):
    """The result, its gradient, and a number that is drawn behind both."""
    t.manual_seed(seed)
    x = t.linspace(1, 2, 24).view(4, 6).requires_grad_()
    result = program(x)
    (gradient,) = t.autograd.grad((result * result).sum(), x)
    return result.detach(), gradient, t.rand(1)


def check(compiled, program):
    for seed in range(4):
        got, want = run(compiled, seed), run(program, seed)
        assert all(t.allclose(a, b) for a, b in zip(got, want, strict=True))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("cut", [default_partition, min_cut_rematerialization_partition])
def test_traced(program, cut):
    check(aot_function(program, lambda gm, _: gm, partition_fn=cut), program)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_compiled_by_kernels(program):
    check(aot_function(program, interpreted), program)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_captured(program):
    check(t.compile(program), program)


@pytest.mark.parametrize("program", [slices, steps], ids=lambda f: f.__name__)
def test_lengths_are_symbols(program):
    compiled = aot_function(program, interpreted, dynamic=True)
    check(compiled, program)
    t.manual_seed(1)
    x = t.ones(7, 6, requires_grad=True)
    got = t.autograd.grad(compiled(x).square().sum(), x)
    t.manual_seed(1)
    assert t.allclose(got[0], t.autograd.grad(program(x).square().sum(), x)[0])


def test_nothing_is_kept_for_functions_that_draw_nothing():
    graphs = []
    f = aot_function(
        lambda x: map(lambda v: v.sin(), x), lambda gm, _: graphs.append(gm.code) or gm
    )
    x = t.ones(3, requires_grad=True)
    f(x).sum().backward()
    assert len(graphs) == 2 and "random_state" not in "".join(graphs)
