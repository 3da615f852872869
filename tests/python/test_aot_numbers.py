"""Numbers and sizes of a program that change from call to call are there in its backward."""

import pytest
from taeda._inductor import compile as inductor
from taeda.fx.aot import aot_function, make_boxed_func
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda as t
from taeda import compiler
from taeda.nn import functional as F

BACKENDS = ["aot_eager", "aot_eager_decomp_partition", "inductor"]


def scaled(x, n):
    return (x * n).sin() * n


def powers(x, n):
    return x.abs() ** n + x / (n + 1)


def both(x, n):
    return (x * (n * 2 + 1)).exp().sum(0) * (n - 0.5)


def checked(program, compiled, numbers):
    """Compares values and gradients of each call with those of eager."""
    for n in numbers:
        x, y = (t.linspace(-1, 1, 6).reshape(2, 3).requires_grad_() for _ in range(2))
        want, have = program(x, n), compiled(y, n)
        want.sum().backward()
        have.sum().backward()
        t.testing.assert_close(have, want)
        t.testing.assert_close(y.grad, x.grad)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("numbers", [(1.5, 2.5, 3.25, -0.5), (2, 3, 5, 7)], ids=["float", "int"])
@pytest.mark.parametrize("program", [scaled, powers, both])
def test_a_number_that_changes(program, numbers, backend):
    compiler.reset()
    checked(program, t.compile(program, backend=backend), numbers)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_number_and_a_size_that_change(backend):
    compiler.reset()

    def program(x, n):
        return (x * n * x.shape[0]).tanh()

    compiled = t.compile(program, backend=backend)
    for size, n in ((2, 1.5), (3, 2.5), (5, 0.5), (7, -1.0)):
        x, y = (t.linspace(-1, 1, size).requires_grad_() for _ in range(2))
        program(x, n).sum().backward()
        compiled(y, n).sum().backward()
        t.testing.assert_close(y.grad, x.grad)


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_of_gradients_with_a_number_that_changes(backend):
    compiler.reset()

    def program(x, n):
        return (x * n).sin()

    compiled = t.compile(program, backend=backend)

    def second(f, n):
        x = t.linspace(-1, 1, 5).requires_grad_()
        (grad,) = t.autograd.grad(f(x, n).sum(), x, create_graph=True)
        (grad * grad).sum().backward()
        return x.grad

    for n in (1.5, 2.5, 3.5):
        t.testing.assert_close(second(compiled, n), second(program, n))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_region_with_a_number_that_changes_and_draws(backend):
    compiler.reset()

    @compiler.nested_compile_region
    def layer(x, w, n):
        return F.dropout((x @ w) * n, 0.5, True).relu() + x * n

    def program(x, w, n):
        return layer(layer(x, w, n), w, n + 0.5)

    compiled = t.compile(program, backend=backend)
    for n in (1.5, 2.5, 3.5):
        seen = []
        for f in (program, compiled):
            x, w = (t.linspace(-1, 1, 16).reshape(4, 4).requires_grad_() for _ in range(2))
            t.manual_seed(7)
            out = f(x, w, n)
            out.sum().backward()
            seen.append((out, x.grad, w.grad))
        t.testing.assert_close(seen[1], seen[0])


# ---- sizes ----


def kernels(gm, inputs):
    return make_boxed_func(inductor(gm, inputs, native="never"))


def test_a_product_of_sizes_does_not_stand_for_its_factors():
    """The gradient of unfold has the size s0*s1 + s1, and its tangent tells neither of the two."""

    def f(x, y):
        return t.cat([x.reshape(-1), (y * 2).reshape(-1)]).unfold(0, 2, 1)

    compiled = aot_function(f, kernels, dynamic=True)
    x, y, z = t.ones(7, 5), t.ones(5).requires_grad_(), t.ones(5).requires_grad_()
    weight = t.arange(78.0).reshape(39, 2)
    (compiled(x, y) * weight).sum().backward()
    (f(x, z) * weight).sum().backward()
    assert t.equal(y.grad, z.grad)


@pytest.mark.parametrize(
    "part", [lambda x: x[2:], lambda x: x[:, 2:5], lambda x: x[1:, 3:7], lambda x: x[1:, ::2]]
)
def test_places_and_strides_of_an_input_may_be_symbols(part):
    x = t.arange(48.0).reshape(4, 12)

    def f(v):
        return v * 2 + v.shape[0]

    compiled = aot_function(f, kernels, dynamic=True)
    assert t.equal(compiled(part(x)), f(part(x)))


def test_parts_of_other_places_need_no_new_program(recwarn):
    compiler.reset()
    x = t.arange(48.0).reshape(4, 12)
    compiled = t.compile(lambda v: (v * 2).sum(1), dynamic=True)
    for part in (x[2:], x[1:3], x[:2], x[1:, 3:7], x[:, ::2]):
        t.testing.assert_close(compiled(part), (part * 2).sum(1))
    assert not [w for w in recwarn if "could not be compiled" in str(w.message)]


@pytest.mark.parametrize("dynamic", [False, True])
def test_writes_to_as_many_elements_as_data_tells(dynamic):
    def program(x):
        y = x * 1
        y[y < 0] = y[y < 0].exp() * 0.5
        return y.sin()

    def compile_graph(graph, inputs):
        return inductor(graph, inputs, native="never")

    compiled = aot_function(program, compile_graph, dynamic=dynamic)
    for values in ([1.0, -2.0, 3.0, -4.0], [-1.0] * 4, [1.0] * 4, [1.0, 2.0, -3.0, 4.0]):
        gradients = []
        for run in (program, compiled):
            x = t.tensor(values, requires_grad=True)
            run(x).sum().backward()
            gradients.append(x.grad)
        t.testing.assert_close(*gradients)


# ---- the default dtype ----


def test_the_default_dtype_is_that_of_the_trace():
    def weighed(w, i):
        return (w * (i / 3)).sin() * t.ones(4).cumsum(0)

    def both(function, default):
        """The first and second gradients; what comes after the forward has another default."""
        w = t.tensor([0.1, 0.2, 0.3, 0.4], requires_grad=True)
        out = function(w, t.arange(4))
        before = t.get_default_dtype()
        t.set_default_dtype(default)
        try:
            (first,) = t.autograd.grad(out.sum(), w, create_graph=True)
            return first, *t.autograd.grad(first.sum(), w)
        finally:
            t.set_default_dtype(before)

    want = both(weighed, t.float32)
    got = both(t.compile(weighed), t.float64)
    assert all(map(t.equal, got, want))


def test_small_sizes_have_the_default_dtype_of_the_trace():
    def halves(i, x):
        return i / 2 + x.sum(), t.ones(x.shape[0]) / i[0]

    inputs = t.arange(1, 4), t.ones(4)
    graph = make_fx(halves, tracing_mode="symbolic")(*inputs)
    compiled = inductor(graph, inputs)
    t.set_default_dtype(t.float64)
    try:
        assert [r.dtype for r in compiled(inputs[0][:1], inputs[1][:1])] == [t.float32] * 2
        assert t.get_default_dtype() == t.float64
    finally:
        t.set_default_dtype(t.float32)
