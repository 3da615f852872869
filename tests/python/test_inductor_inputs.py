"""What a trace found out about its inputs is checked when compiled programs run."""

import pytest
import taeda.autograd.forward_ad as fwAD
from taeda._inductor import compile
from taeda.fx.aot import aot_function
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda as t


def plan(f, *inputs):
    gm = make_fx(f, tracing_mode="symbolic", pre_dispatch=True)(*inputs)
    return compile(gm, list(inputs), native="never")


def traced(f, *inputs):
    compiled = aot_function(f, lambda gm, _: gm, dynamic=True)
    compiled(*inputs)
    return compiled


def by_size(x):
    return x * 2 if x.shape[0] > 3 else x + 100


def largest(x):
    return x * max(x.size(0), x.size(1))


def middle(x):
    return x.tensor_split(3, 1)[1] * 2


@pytest.mark.parametrize("make", [plan, traced])
@pytest.mark.parametrize(
    ("f", "fits", "differs"),
    [(by_size, (9, 9), (2, 9)), (largest, (5, 7), (9, 6)), (middle, (6, 12), (6, 17))],
)
def test_sizes_of_another_trace(make, f, fits, differs):
    compiled = make(f, t.randn(6, 9))
    x = t.randn(fits)
    assert t.equal(compiled(x), f(x))
    with pytest.raises(RuntimeError, match=r"was traced for inputs with .*size.*trace it again"):
        compiled(t.randn(differs))
    assert t.equal(compiled(x), f(x))


@pytest.mark.parametrize("make", [plan, traced])
def test_sizes_that_no_guard_speaks_of(make):
    compiled = make(lambda x: x.softmax(-1) + 1, t.randn(6, 9))
    for sizes in [(2, 3), (1, 9), (0, 4), (17, 1)]:
        x = t.randn(sizes)
        assert t.allclose(compiled(x), x.softmax(-1) + 1)


def test_inputs_that_must_have_the_same_size():
    compiled = traced(lambda x, y: x + y, t.randn(6), t.randn(6))
    assert compiled(t.ones(4), t.ones(4)).sum() == 8
    with pytest.raises(RuntimeError, match="size"):
        compiled(t.ones(4), t.ones(3))
    assert compiled(t.ones(4), t.ones(1)).sum() == 8  # of a trace of its own


@pytest.mark.parametrize("make", [plan, traced])
def test_dual_tensors(make):
    compiled = make(lambda x: x.sin(), t.randn(6))
    with fwAD.dual_level():
        dual = fwAD.make_dual(t.randn(6), t.randn(6))
        with pytest.raises(NotImplementedError, match=r"input 0 .* is a dual tensor"):
            compiled(dual)


def test_a_plan_inside_of_a_trace():
    compiled = plan(lambda x: (x * 2).sin(), t.randn(6))
    again = make_fx(lambda x: compiled(x) + 1)(t.zeros(6))
    x = t.randn(6)
    assert t.equal(again(x), (x * 2).sin() + 1)


@pytest.mark.parametrize("make", [plan, traced])
def test_gradients_that_the_trace_does_not_have(make):
    compiled = make(lambda x: x.sin(), t.randn(6))
    x = t.randn(6, requires_grad=True)
    with pytest.raises(RuntimeError, match="input 0 requires a gradient"):
        compiled(x)
    with t.no_grad():
        assert t.equal(compiled(x), x.sin())


@pytest.mark.parametrize("shift", [1, -1, 4])
@pytest.mark.parametrize("dims", [(), 0])
def test_rolls_of_any_size(shift, dims):
    x = t.randn(6, 3, requires_grad=True)
    compiled = plan(lambda v: v.roll(shift, dims) * 2, x)
    for rows in (6, 1, 4, 2):
        y = t.randn(rows, 3, requires_grad=True)
        result = compiled(y)
        assert t.equal(result, y.roll(shift, dims) * 2)
        assert t.equal(t.autograd.grad(result.sum(), y)[0], t.full((rows, 3), 2.0))


def test_a_size_that_the_trace_fixed():
    compiled = traced(lambda x: x * int(x.shape[0]), t.ones(4, 3))
    with pytest.raises(RuntimeError, match="was traced for inputs with"):
        compiled(t.ones(9, 3))


PLACES = {
    "views": (lambda x: x.as_strided((3, 4), (2, 1)) + 1, (5, 7), (2, 2)),
    "of what is computed": (lambda x: x.exp().as_strided((5, 5), (5, 1)) * 2, (5, 6), (4, 3)),
    "empty": (lambda x: x.as_strided((3, 4), (2, 1)) + 1, (5, 7), (0, 3)),
}


@pytest.mark.parametrize("name", PLACES)
def test_places_beyond_the_storage(name):
    """A view by as_strided is as large as the program says, whatever its tensor's sizes."""
    f, shape, small = PLACES[name]
    gm = make_fx(f, tracing_mode="symbolic")(t.ones(shape))
    run = compile(gm, [t.ones(shape)], native="never")
    assert t.equal(run(t.ones(shape)), f(t.ones(shape)))
    for g in (run, t.compile(f, dynamic=True)):
        with pytest.raises(RuntimeError, match="out of bounds for storage of size"):
            g(t.zeros(small))


def test_places_of_another_storage():
    f = t.compile(lambda x: x.as_strided((4, 4), (8, 1)) + 1)
    assert f(t.zeros(8, 8)[:2, :2]).shape == (4, 4)
    with pytest.raises(RuntimeError, match="out of bounds for storage of size"):
        f(t.empty_strided((2, 2), (8, 1)))


def test_places_count_from_the_storage():
    f = t.compile(lambda x: x.as_strided((2, 2), (1, 1), 1) * 1)
    for x in (t.arange(16.0).view(4, 4), t.arange(64.0)[5:21].view(4, 4)):
        assert f(x).tolist() == [[1, 2], [2, 3]]


@pytest.mark.parametrize("later", [t.arange(24.0).view(4, 6), t.ones(1, 1).expand(4, 6)])
def test_elements_that_shared_memory_in_the_trace_may_lie_otherwise(later):
    compiled = plan(lambda x: x * 2 + 1, t.arange(4.0).view(4, 1).expand(4, 6))
    assert t.equal(compiled(later), later * 2 + 1)
