"""Layers that repeat share their kernels; each step keeps memory of its own."""

import pytest
from taeda._inductor import compile
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda as t
import taeda.nn.functional as F


def layers(count):
    def f(x, *weights):
        for weight in weights[:count]:
            x = F.layer_norm(x + F.gelu(x @ weight), [8])
        return x

    return f


def compiled_layers(count, mode="symbolic", native="never", requires_grad=False):
    x = t.randn(5, 8)
    weights = [t.randn(8, 8, requires_grad=requires_grad) for _ in range(count)]
    gm = make_fx(layers(count), tracing_mode=mode, pre_dispatch=True)(x, *weights)
    return compile(gm, [x, *weights], native=native), [x, *weights]


@pytest.mark.parametrize("mode", ["real", "symbolic"])
def test_the_number_of_kernels_that_differ_does_not_grow(mode):
    few, many = (compiled_layers(count, mode)[0].report()[0] for count in (4, 12))
    assert many["kernels"] > few["kernels"]
    assert many["distinct_kernels"] == few["distinct_kernels"] < few["kernels"]


def test_backward_kernels_are_shared():
    few, many = (compiled_layers(count, requires_grad=True)[0].report() for count in (4, 12))
    for a, b in zip(few, many, strict=True):
        assert b["kernels"] > a["kernels"] and a["distinct_kernels"] == b["distinct_kernels"]


@pytest.mark.parametrize("native", ["never", "wait"])
def test_steps_that_share_a_kernel_have_their_own_memory(native):
    compiled, inputs = compiled_layers(5, native=native)
    report = compiled.report()[0]
    assert report["native"] == (report["kernels"] if native == "wait" else 0)
    longer = [t.randn(9, 8), *inputs[1:]]
    for given in (inputs, longer):
        assert t.equal(compiled(*given), layers(5)(*given))


def test_equal_loops_of_other_kinds_are_kernels_of_their_own():
    def f(x, y):
        return (x @ y).exp() @ y, (x @ y).double().exp() + 1, (y @ x).sum(0), (y @ x).amax(0)

    inputs = [t.randn(6, 6), t.randn(6, 6)]
    compiled = compile(make_fx(f, pre_dispatch=True)(*inputs), inputs, native="never")
    for got, want in zip(compiled(*inputs), f(*inputs), strict=True):
        assert t.equal(got, want)


@pytest.mark.parametrize("native", ["never", "wait"])
def test_constant_sizes_make_no_kernels_of_their_own(native):
    def f(*xs):
        rows = [(x - x.amax(1, keepdim=True)).exp() for x in xs]
        return rows, [x.sum(0) for x in xs], [row[:, ::2] * 2 for row in rows]

    def distinct(*xs):
        gm = make_fx(f, pre_dispatch=True)(*xs)
        compiled = compile(gm, list(xs), native=native)
        for got, want in zip(compiled(*xs), f(*xs), strict=True):
            assert all(t.equal(a, b) for a, b in zip(got, want, strict=True))
        return compiled.report()[0]["distinct_kernels"]

    xs = [t.randn(size) for size in [(40, 140), (50, 100), (60, 300), (300, 200)]]
    assert distinct(*xs) == distinct(xs[0])


@pytest.mark.parametrize("native", ["never", "wait"])
@pytest.mark.parametrize(
    "layer",
    [
        lambda x: x.mean((0, 2)),
        lambda x: F.batch_norm(x, None, None, training=True),
        lambda x: x * (x.shape[0] * x.shape[2]) + x.shape[1],
    ],
    ids=["mean", "batch_norm", "pointwise"],
)
def test_numbers_of_elements_make_no_kernels_of_their_own(layer, native):
    def distinct(*xs):
        gm = make_fx(lambda *xs: [layer(x) for x in xs], pre_dispatch=True)(*xs)
        compiled = compile(gm, list(xs), native=native)
        for got, x in zip(compiled(*xs), xs, strict=True):
            assert t.equal(got, layer(x))
        return compiled.report()[0]["distinct_kernels"]

    xs = [t.randn(4, channels, size) for channels, size in [(100, 1500), (200, 1300), (300, 1700)]]
    assert distinct(*xs) == distinct(xs[0])


def test_small_sizes_stay_in_the_code():
    def f(*xs):
        return [x.softmax(1) for x in xs]

    inputs = [t.randn(40, columns) for columns in (3, 5, 24, 32)]
    compiled = compile(make_fx(f, pre_dispatch=True)(*inputs), inputs, native="never")
    assert compiled.report()[0]["distinct_kernels"] == 4
