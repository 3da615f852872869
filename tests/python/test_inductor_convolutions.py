"""Work on the result of a convolution runs on its blocks, with the bits that it has by itself."""

import pytest
from taeda._inductor import compile, config
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda as t
import taeda.nn.functional as F


def captured(f, inputs, mode="symbolic", **options):
    gm = make_fx(f, tracing_mode=mode, pre_dispatch=True)(*inputs)
    return compile(gm, inputs, **({"native": "never"} | options))


def same(a, b):
    is_alike = a.dtype == b.dtype and a.shape == b.shape and a.stride() == b.stride()
    return is_alike and t.equal(a, b)


def alike(compiled, a, b):
    """Equal bits, or where a library did work behind a product, nearly so."""
    plans = compiled.report()
    if any(step["finished_by_library"] for plan in plans for step in plan["steps"]):
        return a.dtype == b.dtype and a.stride() == b.stride() and t.allclose(a, b, 1e-5, 1e-5)
    return same(a, b)


def steps(compiled, plan=0):
    """What runs: ("convolution", "kernel0") for one with a kernel on its blocks."""
    return [
        (step["name"], step["epilogue"]) if step["epilogue"] else step["name"]
        for step in compiled.report()[plan]["steps"]
    ]


def filled(*sizes, dtype=t.float32):
    return (t.randn(*sizes) / 4).to(dtype)


# Sizes of the image and the filters by the way in which a convolution goes, and its options. Sizes
# that are traced as equal stay equal, so those that change are unlike all others.
CONVOLUTIONS = {
    "product": ((2, 5, 9, 11), (7, 5, 3, 3), {"padding": 1}),
    "blocks of several images": ((9, 4, 5, 5), (150, 4, 3, 3), {"padding": 1}),
    "strided": ((2, 6, 15, 9), (7, 6, 3, 3), {"stride": 2, "padding": 1}),
    "dilated": ((2, 3, 12, 14), (5, 3, 3, 3), {"dilation": 2}),
    "groups": ((4, 6, 11, 11), (10, 3, 3, 3), {"groups": 2}),
    "pointwise": ((2, 6, 12, 12), (9, 6, 1, 1), {}),
    "pointwise of groups": ((2, 6, 12, 12), (8, 3, 1, 1), {"groups": 2}),
    "pointwise of small images": ((3, 6, 4, 4), (9, 6, 1, 1), {}),
    "strided pointwise": ((2, 6, 14, 14), (9, 6, 1, 1), {"stride": 2}),
    "depthwise": ((2, 12, 9, 9), (12, 1, 3, 3), {"groups": 12, "padding": 1}),
    "strided depthwise": ((2, 12, 9, 9), (12, 1, 3, 3), {"groups": 12, "stride": 2}),
    "large": ((2, 32, 30, 30), (48, 32, 3, 3), {"padding": 1}),
    "large depthwise": ((3, 40, 33, 33), (40, 1, 5, 5), {"groups": 40, "padding": 2}),
}

# Of the result p, a value r of its sizes, and the values s and b of its channels.
EPILOGUES = {
    "relu": lambda p, r, s, b: F.relu(p),
    "norm": lambda p, r, s, b: F.relu(F.batch_norm(p, b, s.abs() + 1, s, b)),
    "scaled": lambda p, r, s, b: F.silu(p * s[:, None, None] + b[:, None, None]),
    "residual": lambda p, r, s, b: F.relu(p * s[:, None, None] + b[:, None, None] + r),
    "gelu to a half": lambda p, r, s, b: F.gelu(p).bfloat16(),
}


def program(options, epilogue, has_bias=False):
    def f(x, w, r, s, b):
        return epilogue(F.conv2d(x, w, b if has_bias else None, **options), r, s, b)

    return f


def operands(x, w, options, dtype=t.float32, last=False):
    x, w = filled(*x, dtype=dtype), filled(*w, dtype=dtype)
    if last:
        x, w = (v.contiguous(memory_format=t.channels_last) for v in (x, w))
    r = t.randn_like(F.conv2d(x, w, **options))
    return [x, w, r, filled(w.shape[0], dtype=dtype), filled(w.shape[0], dtype=dtype)]


@pytest.mark.sampled(11)
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("epilogue", EPILOGUES)
def test_work_on_a_convolution_runs_on_its_blocks(name, epilogue, last):
    x, w, options = CONVOLUTIONS[name]
    f = program(options, EPILOGUES[epilogue], has_bias=epilogue == "residual")
    inputs = operands(x, w, options, last=last)
    compiled = captured(f, inputs)
    is_inside = "depthwise" not in name if last else epilogue != "residual"
    assert ("convolution" in steps(compiled)) != is_inside, compiled.text()
    others = operands((x[0] + 2, x[1], x[2] + 5, x[3] + 5), w, options, last=last)
    for _ in range(2):
        for given in (inputs, others):
            assert alike(compiled, compiled(*given), f(*given)), compiled.text()
        compiled.compile_native()


@pytest.mark.parametrize("dtype", [t.float64, t.bfloat16, t.float16])
@pytest.mark.parametrize("name", ["product", "pointwise", "depthwise"])
def test_dtypes(name, dtype):
    x, w, options = CONVOLUTIONS[name]
    for last in (False, True):
        f = program(options, EPILOGUES["scaled"])
        inputs = operands(x, w, options, dtype, last)
        compiled = captured(f, inputs)
        is_inside = not last or name != "depthwise"
        assert (steps(compiled) == [("convolution", "kernel0")]) == is_inside
        for _ in range(2):
            assert alike(compiled, compiled(*inputs), f(*inputs))
            compiled.compile_native()


def test_constant_sizes():
    x, w, options = CONVOLUTIONS["product"]
    for sizes in (x, (1, *x[1:]), (2, 5, 1, 1), (1, 5, 1, 9)):
        for last in (False, True):
            inputs = operands(sizes, w, options, last=last)
            f = program(options, EPILOGUES["scaled"])
            compiled = captured(f, inputs, mode="real")
            assert steps(compiled) == [("convolution", "kernel0")]
            assert alike(compiled, compiled(*inputs), f(*inputs))


@pytest.mark.parametrize("spatial", [1, 3])
def test_other_ranks(spatial):
    convolve = {1: F.conv1d, 3: F.conv3d}[spatial]

    def f(x, w, b):
        return F.silu(convolve(x, w, b, padding=1)) * 2

    for sizes in ((2, 4, *[7, 6, 5][:spatial]), (3, 4, *[9, 4, 8][:spatial])):
        inputs = [filled(*sizes), filled(6, 4, *[3] * spatial), filled(6)]
        compiled = captured(f, inputs)
        assert steps(compiled) == [("convolution", "kernel0")]
        assert alike(compiled, compiled(*inputs), f(*inputs))


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("groups", [1, 2, 6])
def test_transposed_convolutions(stride, groups):
    def f(x, w, b):
        return F.relu(F.conv_transpose2d(x, w, b, stride=stride, padding=1, groups=groups)) * 2

    for form in (t.contiguous_format, t.channels_last):
        x, other, w = (
            filled(*sizes).contiguous(memory_format=form)
            for sizes in ((2, 6, 9, 8), (3, 6, 5, 7), (6, 6 // groups, 3, 3))
        )
        b = filled(6)
        compiled = captured(f, [x, w, b])
        assert len(steps(compiled)) == 1 or (groups == 6 and form == t.channels_last)
        for given in (x, other):
            assert same(compiled(given, w, b), f(given, w, b))


APART = {
    "reduced": lambda p: p.sum((2, 3)),
    "elsewhere": lambda p: p.flip(2).exp(),
    "a part": lambda p: p[:, 1:].exp(),
    "pooled": lambda p: F.max_pool2d(p, 2),
}


@pytest.mark.parametrize("name", APART)
def test_work_that_reads_other_elements_waits(name):
    inputs = [filled(2, 4, 8, 8), filled(6, 4, 3, 3)]

    def f(x, w):
        return APART[name](F.conv2d(x, w))

    compiled = captured(f, inputs)
    assert all(isinstance(step, str) for step in steps(compiled)), compiled.text()
    assert alike(compiled, compiled(*inputs), f(*inputs))


def test_work_with_values_that_lie_otherwise_is_a_pass_of_its_own():
    """Blocks with channels innermost would gather such values element by element."""
    last = {"memory_format": t.channels_last}
    x, weight = filled(2, 6, 8, 8).contiguous(**last), filled(7, 6, 3, 3)
    other = filled(2, 7, 8, 8)

    def f(x, weight, other):
        return (F.conv2d(x, weight, padding=1) + other).relu()

    for beside, expected in [
        (other, ["convolution", "kernel0"]),
        (other.contiguous(**last), [("convolution", "kernel0")]),
    ]:
        compiled = captured(f, (x, weight, beside))
        assert same(compiled(x, weight, beside), f(x, weight, beside))
        assert steps(compiled) == expected


@pytest.mark.parametrize("mode", ["symbolic", "fake"])
def test_images_of_pools_lie_as_convolutions_want_them(mode):
    x, filters, more = filled(2, 16, 20, 20), filled(32, 16, 3, 3), filled(32, 16, 1, 1)

    def f(x, filters, more):
        y = F.max_pool2d(x, 3, 2, 1)
        return (F.conv2d(y, filters, padding=1).relu() + F.conv2d(y, more)).relu() + 1

    compiled = captured(f, (x, filters, more), mode)
    got, want = compiled(x, filters, more), f(x, filters, more)
    assert got.stride() == want.stride() and t.allclose(got, want, 1e-4, 1e-4)


def test_a_result_that_others_need_is_kept():
    def f(x, w):
        p = F.conv2d(x, w)
        return F.relu(p), p

    inputs = [filled(2, 4, 8, 8), filled(6, 4, 3, 3)]
    compiled = captured(f, inputs)
    assert steps(compiled) == [("convolution", "kernel0")]
    assert all(same(a, b) for a, b in zip(compiled(*inputs), f(*inputs), strict=True))


def test_the_last_of_two_convolutions_is_finished():
    def f(x, u, v):
        return F.relu(F.conv2d(x, u, padding=1) + F.conv2d(x, v))

    sizes = (2, 4, 8, 8), (6, 4, 3, 3), (6, 4, 1, 1)
    inputs = [filled(*s).contiguous(memory_format=t.channels_last) for s in sizes]
    compiled = captured(f, inputs)
    assert steps(compiled) == ["convolution", ("convolution", "kernel0")]
    assert alike(compiled, compiled(*inputs), f(*inputs))


def test_a_product_behind_a_convolution():
    def f(x, u, v):
        return F.relu(F.relu(F.conv2d(x, u)).flatten(1) @ v)

    inputs = [filled(9, 4, 8, 8), filled(6, 4, 3, 3), filled(216, 20)]
    compiled = captured(f, inputs, mode="real")
    assert steps(compiled) == [("convolution", "kernel0"), ("mm", "kernel1")]
    assert alike(compiled, compiled(*inputs), f(*inputs))


def test_training():
    def f(x, u, b, v):
        return F.gelu(F.conv2d(F.relu(F.conv2d(x, u, b)), v, padding=1))

    def leaves(images):
        sizes = (images, 3, 8, 9), (6, 3, 3, 3), (6,), (5, 6, 3, 3)
        return [filled(*s).requires_grad_() for s in sizes]

    compiled = captured(f, leaves(2))
    assert steps(compiled)[:2] == [("convolution", "kernel0"), ("convolution", "kernel1")]
    for _ in range(2):
        for images in (2, 5):
            inputs = leaves(images)
            have, want = compiled(*inputs), f(*inputs)
            assert same(have, want)
            have = t.autograd.grad(have.sin().sum(), inputs)
            want = t.autograd.grad(want.sin().sum(), inputs)
            assert all(same(a, b) for a, b in zip(have, want, strict=True))
        compiled.compile_native()


def test_frozen_filters_lie_with_channels_innermost():
    model = t.nn.Sequential(
        t.nn.Conv2d(3, 8, 3, bias=False),
        t.nn.BatchNorm2d(8),
        t.nn.ReLU(),
        t.nn.Conv2d(8, 4, 1),
        t.nn.SiLU(),
    ).eval()
    x = filled(2, 3, 12, 12)
    with config.patch(freezing=True), t.no_grad():
        compiled = t.compile(model)
        t.testing.assert_close(compiled(x), model(x))
        with config.patch(pattern_matcher=False):
            exact = t.compile(model)
            t.testing.assert_close(exact(x), model(x))


def test_threads_give_the_same_bits():
    count = t.get_num_threads()
    for name in ("large", "large depthwise", "pointwise"):
        x, w, options = CONVOLUTIONS[name]
        f, inputs = program(options, EPILOGUES["norm"]), operands(x, w, options)
        compiled = captured(f, inputs)
        try:
            for threads in (1, 2, 3):
                t.set_num_threads(threads)
                assert alike(compiled, compiled(*inputs), f(*inputs))
        finally:
            t.set_num_threads(count)


def test_sizes_without_a_result():
    x, w, options = (2, 3, 8, 8), (4, 3, 3, 3), {}
    f = program(options, EPILOGUES["relu"])
    inputs = operands(x, w, options)
    compiled = captured(f, inputs)
    none = operands((0, 3, 8, 8), w, options)
    assert alike(compiled, compiled(*none), f(*none))
    # Images that are smaller than the filters are none that the trace was for.
    small = [filled(2, 3, 2, 2), *inputs[1:]]
    with pytest.raises(RuntimeError, match="Kernel size can't be greater than actual input size"):
        f(*small)
    with pytest.raises(RuntimeError, match="was traced for inputs with"):
        compiled(*small)


def test_both_forms_are_compared():
    x, w, options = CONVOLUTIONS["product"]
    f, inputs = program(options, EPILOGUES["scaled"]), operands(x, w, options)
    compiled = captured(f, inputs, native="wait", check=True)
    assert alike(compiled, compiled(*inputs), f(*inputs))


def test_without_fusion_convolutions_are_plain_calls():
    x, w, options = CONVOLUTIONS["product"]
    f, inputs = program(options, EPILOGUES["scaled"]), operands(x, w, options)
    with config.patch(epilogue_fusion=False):
        compiled = captured(f, inputs)
    assert steps(compiled) == ["convolution", "kernel0"]
    assert alike(compiled, compiled(*inputs), f(*inputs))


def test_reports_say_what_a_convolution_saves():
    inputs = [filled(2, 4, 8, 8), filled(6, 4, 3, 3)]
    compiled = captured(lambda x, w: F.relu(F.conv2d(x, w)), inputs, mode="real")
    (step,) = compiled.report()[0]["steps"]
    assert step["bytes_saved"] == 2 * 2 * 6 * 6 * 6 * 4
    assert step["nodes"] == ["convolution = convolution", "relu = relu"]


class BesideReductions(t.nn.Module):
    """What follows a convolution also reads sums of other values."""

    def __init__(self):
        super().__init__()
        self.convolution = t.nn.Conv2d(8, 8, 3, padding=1)
        self.pointwise = t.nn.Conv2d(8, 8, 1)
        self.norm = t.nn.GroupNorm(2, 8)

    def forward(self, x):
        y = x.sin()
        scaled = self.pointwise(y) * y.mean((2, 3), keepdim=True)
        return (
            (self.convolution(x) + self.norm(y)).relu(),
            scaled.tanh(),
            self.convolution(y) * y.sum(),
        )


@pytest.mark.parametrize("memory_format", [t.contiguous_format, t.channels_last])
def test_results_of_reductions_beside_a_convolution(memory_format):
    model = BesideReductions()
    compiled = t.compile(model, options={"native": "never"})
    for size in (5, 7, 6):
        x = t.randn(4, 8, size, size).to(memory_format=memory_format)
        for got, expected in zip(compiled(x), model(x), strict=True):
            assert t.allclose(got, expected, rtol=1e-4, atol=1e-5)
