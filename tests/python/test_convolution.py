"""Convolutions against their definition, against PyTorch, and under every transform."""

import itertools
import random

import pytest
from taeda.utils._python_dispatch import TorchDispatchMode

import taeda as t
import taeda.nn.functional as F
from taeda.func import grad, vmap

np = pytest.importorskip("numpy")


def plain_convolution(x, weight, stride, padding, dilation, groups):
    """y[n, o, p] as a sum over taps, each a slice of the padded input."""
    n = x.ndim - 2
    padded = np.pad(x, [(0, 0), (0, 0)] + [(p, p) for p in padding])
    kernel = weight.shape[2:]
    reach = [d * (k - 1) for d, k in zip(dilation, kernel)]
    sizes = [(padded.shape[i + 2] - reach[i] - 1) // stride[i] + 1 for i in range(n)]
    y = np.zeros((x.shape[0], weight.shape[0], *sizes), dtype=x.dtype)
    per_in, per_out = weight.shape[1], weight.shape[0] // groups
    for g in range(groups):
        channels = padded[:, g * per_in : (g + 1) * per_in]
        filters = weight[g * per_out : (g + 1) * per_out]
        for tap in itertools.product(*map(range, kernel)):
            first = [tap[i] * dilation[i] for i in range(n)]
            window = tuple(
                slice(first[i], first[i] + (sizes[i] - 1) * stride[i] + 1, stride[i])
                for i in range(n)
            )
            part = np.einsum(
                "nc...,oc->no...",
                channels[(slice(None), slice(None), *window)],
                filters[(..., *tap)],
            )
            y[:, g * per_out : (g + 1) * per_out] += part
    return y


def transposed_convolution(x, weight, stride, padding, dilation, output_padding, groups):
    """Each element of x adds a patch to y."""
    n = x.ndim - 2
    kernel = weight.shape[2:]
    full = [
        (x.shape[i + 2] - 1) * stride[i] + dilation[i] * (kernel[i] - 1) + 1 + output_padding[i]
        for i in range(n)
    ]
    per_in, per_out = x.shape[1] // groups, weight.shape[1]
    y = np.zeros((x.shape[0], per_out * groups, *full), dtype=x.dtype)
    for g in range(groups):
        channels = x[:, g * per_in : (g + 1) * per_in]
        filters = weight[g * per_in : (g + 1) * per_in]
        for tap in itertools.product(*map(range, kernel)):
            window = tuple(
                slice(
                    tap[i] * dilation[i],
                    tap[i] * dilation[i] + (x.shape[i + 2] - 1) * stride[i] + 1,
                    stride[i],
                )
                for i in range(n)
            )
            part = np.einsum("nc...,co->no...", channels, filters[(..., *tap)])
            y[(slice(None), slice(g * per_out, (g + 1) * per_out), *window)] += part
    inner = tuple(slice(padding[i], full[i] - padding[i]) for i in range(n))
    return y[(slice(None), slice(None), *inner)]


class Case:
    """A random convolution: its arguments and tensors in numbers that are small integers."""

    def __init__(self, seed):
        choose = random.Random(seed)
        numbers = np.random.default_rng(seed)
        n = choose.choice([1, 2, 2, 3])
        self.transposed = choose.random() < 0.4
        self.groups = choose.choice([1, 1, 2, 3])
        per_in, per_out = choose.choice([1, 2, 5, 19]), choose.choice([1, 3, 17])
        if choose.random() < 0.2:  # depthwise
            self.groups, per_in, per_out = choose.choice([3, 18, 70]), 1, 1
        self.kernel = [choose.choice([1, 2, 3]) for _ in range(n)]
        self.stride = [choose.choice([1, 1, 2, 3]) for _ in range(n)]
        self.dilation = [choose.choice([1, 1, 2]) for _ in range(n)]
        self.padding = [choose.choice([0, 1, 2]) for _ in range(n)]
        self.output_padding = [
            choose.randrange(max(s, d)) if self.transposed else 0
            for s, d in zip(self.stride, self.dilation)
        ]
        sizes = [choose.choice([5, 8, 21] if n < 3 else [5, 6]) for _ in range(n)]
        channels, out_channels = self.groups * per_in, self.groups * per_out
        outer = (channels, per_out) if self.transposed else (out_channels, per_in)
        self.x = numbers.integers(-3, 4, (choose.choice([1, 3]), channels, *sizes))
        self.weight = numbers.integers(-3, 4, (*outer, *self.kernel))
        self.bias = numbers.integers(-3, 4, out_channels) if choose.random() < 0.5 else None
        self.is_channels_last = n > 1 and choose.random() < 0.4
        self.n = n

    def arguments(self):
        return (
            self.stride,
            self.padding,
            self.dilation,
            self.transposed,
            self.output_padding,
            self.groups,
        )

    def expected(self):
        if self.transposed:
            y = transposed_convolution(
                self.x,
                self.weight,
                self.stride,
                self.padding,
                self.dilation,
                self.output_padding,
                self.groups,
            )
        else:
            y = plain_convolution(
                self.x, self.weight, self.stride, self.padding, self.dilation, self.groups
            )
        return y if self.bias is None else y + self.bias.reshape(-1, *[1] * self.n)

    def laid_out(self, array, module, dtype):
        made = module.from_numpy(array).to(getattr(module, dtype))
        if not self.is_channels_last:
            return made
        return made.contiguous(
            memory_format=module.channels_last if self.n == 2 else module.channels_last_3d
        )

    def tensors(self, module, dtype):
        bias = None
        if self.bias is not None:
            bias = module.from_numpy(self.bias).to(getattr(module, dtype))
        x, weight = (self.laid_out(a, module, dtype) for a in (self.x, self.weight))
        return x, weight, bias


DTYPES = ("float32", "float64", "bfloat16", "float16", "int64", "complex64")


@pytest.mark.parametrize("seed", range(60))
def test_values_are_those_of_the_definition(seed):
    case = Case(seed)
    dtype = DTYPES[seed % len(DTYPES)]
    y = t.convolution(*case.tensors(t, dtype), *case.arguments())
    expected = case.expected()
    assert tuple(y.shape) == expected.shape and y.dtype == getattr(t, dtype)
    # Integers of this size are exact in every dtype but the halves, which round once.
    exact = t.from_numpy(expected).to(t.float64).to(y.dtype)
    assert t.equal(y.to(t.complex128), exact.to(t.complex128))


@pytest.mark.parametrize("seed", range(60, 90))
def test_gradients_are_those_of_pytorch(seed, torch):
    case = Case(seed)
    results = []
    for module in (t, torch):
        tensors = [
            None if x is None else x.requires_grad_() for x in case.tensors(module, "float64")
        ]
        y = module.convolution(*tensors, *case.arguments())
        wanted = [x for x in tensors if x is not None]
        first = module.autograd.grad((y * y).sum(), wanted, create_graph=True)
        second = module.autograd.grad(sum((g * g).sum() for g in first), wanted)
        results.append([x.detach().numpy() for x in (y, *first, *second)])
    for own, other in zip(*results, strict=True):
        assert np.array_equal(own, other)  # integers, exact in double


@pytest.mark.parametrize("seed", range(90, 110))
def test_layout_is_that_of_pytorch(seed, torch):
    case = Case(seed)
    strides = [
        tuple(module.convolution(*case.tensors(module, "float32"), *case.arguments()).stride())
        for module in (t, torch)
    ]
    if case.n == 3:
        pytest.skip("PyTorch's layout there depends on sizes and threads")
    assert strides[0] == strides[1]


# The smaller ones of them are computed here, the larger ones by oneDNN where it is installed.
@pytest.mark.parametrize("format", ["contiguous_format", "channels_last"])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(
    "kernel, stride, padding, groups", [(3, 1, 1, 1), (3, 2, 1, 2), (1, 1, 0, 1)]
)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_many_channels_agree_with_double(
    format, transposed, kernel, stride, padding, groups, dtype
):
    t.manual_seed(0)
    x, weight = t.randn(3, 40, 17, 19), t.randn(40, 40 // groups, kernel, kernel)
    bias = t.randn(40)
    results = []
    for kind in (getattr(t, dtype), t.float64):
        tensors = [a.to(getattr(t, dtype)).to(kind) for a in (x, weight, bias)]
        for i in range(2):
            tensors[i] = tensors[i].contiguous(memory_format=getattr(t, format))
        tensors = [a.requires_grad_() for a in tensors]
        arguments = ([stride] * 2, [padding] * 2, [1, 1], transposed, [0, 0], groups)
        y = t.convolution(*tensors, *arguments)
        results.append([y, *t.autograd.grad(y, tensors, t.ones_like(y))])
    scale = 1e-5 if dtype == "float32" else 1e-2
    for own, wide in zip(*results):
        assert (own - wide).abs().max() <= scale * wide.abs().max()


@pytest.mark.parametrize("format", ["contiguous_format", "channels_last"])
@pytest.mark.parametrize("groups", [1, 2, 16])
def test_threads_change_nothing(format, groups):
    x = t.randn(3, 16, 19, 23, dtype=t.float64).contiguous(memory_format=getattr(t, format))
    weight = t.randn(32 if groups < 16 else 16, 16 // groups, 3, 3, dtype=t.float64)
    before = t.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 5):
            t.set_num_threads(threads)
            a, b = x.clone().requires_grad_(), weight.clone().requires_grad_()
            y = F.conv2d(a, b, stride=(1, 2), padding=1, groups=groups)
            results.append([y.detach(), *t.autograd.grad(y.sin().sum(), (a, b))])
    finally:
        t.set_num_threads(before)
    for other in results[1:]:
        assert all(t.equal(p, q) for p, q in zip(results[0], other))


@pytest.mark.parametrize(
    "function, weight, kwargs",
    [
        (F.conv1d, (4, 2, 3), {"groups": 2, "stride": 2, "padding": 1}),
        (F.conv2d, (4, 2, 3, 2), {"groups": 2, "stride": (2, 1), "padding": (1, 0)}),
        (F.conv2d, (3, 4, 2, 2), {"padding": "same"}),
        (F.conv3d, (2, 4, 2, 1, 2), {"dilation": (1, 1, 2)}),
        (F.conv_transpose1d, (4, 2, 3), {"stride": 2, "output_padding": 1, "groups": 2}),
        (F.conv_transpose2d, (4, 3, 2, 3), {"stride": (2, 3), "padding": 1}),
        (F.conv_transpose3d, (4, 1, 2, 1, 2), {"dilation": (2, 1, 1), "groups": 4}),
    ],
)
@pytest.mark.filterwarnings("ignore:Using padding")
def test_vmap_over_any_argument(function, weight, kwargs):
    sizes = [5, 4, 3][: len(weight) - 2]
    groups = kwargs.get("groups", 1)
    is_transposed = "transpose" in function.__name__
    channels = weight[1] * groups if is_transposed else weight[0]
    arguments = [t.randn(2, 4, *sizes), t.randn(*weight), t.randn(channels)]
    arguments = [a.double() for a in arguments]

    def value(x, w, b):
        return function(x, w, b, **kwargs).sin().sum()

    for dims in itertools.product((0, None), repeat=3):
        if dims == (None, None, None):
            continue
        stacks = [t.stack([a, a * 2, a - 1]) if d == 0 else a for a, d in zip(arguments, dims)]
        outs = vmap(function_of(function, kwargs), dims)(*stacks)
        grads = vmap(grad(value, (0, 1, 2)), dims)(*stacks)
        for i in range(3):
            example = [s[i] if d == 0 else s for s, d in zip(stacks, dims)]
            assert t.allclose(outs[i], function(*example, **kwargs))
            for got, expected in zip(grads, grad(value, (0, 1, 2))(*example)):
                assert t.allclose(got[i], expected)


def function_of(function, kwargs):
    return lambda x, w, b: function(x, w, b, **kwargs)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", [t.float64, t.complex128])
@pytest.mark.parametrize("transposed", [False, True])
def test_derivatives_of_all_orders_and_modes(dtype, transposed):
    x = t.randn(2, 4, 4, 3, dtype=dtype, requires_grad=True)
    weight = t.randn(4, 2, 2, 2, dtype=dtype, requires_grad=True)
    bias = t.randn(4, dtype=dtype, requires_grad=True)

    def f(*tensors):
        return t.convolution(*tensors, [2, 1], [1, 0], [1, 1], transposed, [0, 0], 2)

    assert t.autograd.gradcheck(f, (x, weight, bias), check_forward_ad=True)
    assert t.autograd.gradgradcheck(f, (x, weight, bias))


def test_the_mask_names_the_gradients_that_come_back():
    grad_output, x, weight = t.randn(2, 3, 3, 3), t.randn(2, 2, 5, 5), t.randn(3, 2, 3, 3)
    rest = ([3], [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    backward = t.ops.aten.convolution_backward
    whole = backward(grad_output, x, weight, *rest, [True, True, True])
    for mask in itertools.product((True, False), repeat=3):
        results = backward(grad_output, x, weight, *rest, list(mask))
        for wanted, got, expected in zip(mask, results, whole):
            assert t.equal(got, expected) if wanted else got is None


def test_an_empty_batch_has_gradients_of_zero():
    x = t.ones(0, 3, 5, 5, requires_grad=True)
    weight, bias = t.ones(4, 3, 3, 3, requires_grad=True), t.ones(4, requires_grad=True)
    y = F.conv2d(x, weight, bias)
    y.sum().backward()
    assert y.shape == (0, 4, 3, 3) and x.grad.shape == x.shape
    assert weight.grad.abs().sum() == 0 and bias.grad.tolist() == [0] * 4


def test_one_node_gives_all_gradients():
    x, weight = t.ones(1, 1, 3, 3, requires_grad=True), t.ones(1, 1, 2, 2, requires_grad=True)
    y = F.conv2d(x, weight)
    assert y.grad_fn.name() == "ConvolutionBackward0"
    calls = []

    class Recorder(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            calls.append(str(func))
            return func(*args, **(kwargs or {}))

    with Recorder():
        y.backward(t.ones_like(y))
    assert calls.count("aten.convolution_backward.default") == 1


def test_an_example_needs_no_batch():
    x, weight = t.randn(2, 6, 5), t.randn(3, 2, 3, 3)
    assert t.allclose(F.conv2d(x, weight), F.conv2d(x.unsqueeze(0), weight)[0])
    with pytest.raises(RuntimeError, match=r"Expected 3D \(unbatched\) or 4D \(batched\) input"):
        F.conv2d(x[0], weight)


@pytest.mark.filterwarnings("ignore:Using padding")
def test_same_padding_keeps_sizes_and_pads_the_end_more():
    x = t.arange(5.0).reshape(1, 1, 5)
    y = F.conv1d(x, t.ones(1, 1, 2), padding="same")
    assert y.tolist() == [[[1, 3, 5, 7, 4]]]
    assert F.conv1d(x, t.ones(1, 1, 3), padding="same").tolist() == [[[1, 3, 6, 9, 7]]]


def test_conv_tbc_is_conv1d_with_other_axes():
    x, weight, bias = t.randn(5, 2, 3), t.randn(3, 3, 4), t.randn(4)
    y = F.conv_tbc(x, weight, bias, 1)
    expected = F.conv1d(x.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=1)
    assert t.allclose(y, expected.permute(2, 0, 1)) and y.is_contiguous()


def test_autocast_takes_the_lower_precision():
    with t.autocast("cpu", dtype=t.bfloat16):
        assert F.conv2d(t.randn(1, 2, 4, 4), t.randn(2, 2, 3, 3)).dtype == t.bfloat16
        assert F.conv_transpose1d(t.randn(1, 2, 4), t.randn(2, 2, 3)).dtype == t.bfloat16


def test_an_out_tensor_may_be_one_of_the_inputs():
    x, weight = t.randn(2, 3, 4, 4), t.randn(3, 3, 3, 3)
    arguments = ([1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    expected = t.convolution(x, weight, None, *arguments)
    out = t.ops.aten.convolution.out(x, weight, None, *arguments, out=x)
    assert out is x and t.equal(x, expected)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("groups", [1, 2])
def test_images_without_channels_leave_zeros_for_the_bias(dims, groups):
    x = t.ones(2, 0, *(4,) * dims, requires_grad=True)
    weight = t.ones(4, 0, *(3,) * dims, requires_grad=True)
    bias = t.ones(4, requires_grad=True)
    y = getattr(F, f"conv{dims}d")(x, weight, bias, groups=groups)
    assert y.shape == (2, 0, *(2,) * dims)
    y.sum().backward()
    assert [v.grad.shape for v in (x, weight, bias)] == [x.shape, weight.shape, (4,)]
    assert bias.grad.tolist() == [0.0] * 4


@pytest.mark.parametrize("name", ["conv2d", "conv_transpose2d"])
def test_an_empty_batch_leaves_zeros(name):
    x, weight = t.ones(0, 3, 4, 4, requires_grad=True), t.ones(3, 3, 2, 2, requires_grad=True)
    bias = t.ones(3, requires_grad=True)
    getattr(F, name)(x, weight, bias).sum().backward()
    assert x.grad.shape == (0, 3, 4, 4)
    assert weight.grad.eq(0).all() and bias.grad.eq(0).all()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_transposed_convolution_of_no_examples_may_have_no_places(n):
    convolve = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[n - 1]
    x = t.ones(0, 2, *[1] * n, requires_grad=True)
    weight = t.ones(2, 3, *[2] * n, requires_grad=True)
    y = convolve(x, weight, padding=1)
    assert y.shape == (0, 3, *[0] * n)
    y.sum().backward()
    assert x.grad.shape == x.shape and weight.grad.count_nonzero() == 0
    with pytest.raises(RuntimeError, match="Output size is too small"):
        convolve(t.ones(1, 2, *[1] * n), weight, padding=1)
