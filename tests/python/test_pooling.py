"""Pooling against its definition, window by window, on random shapes and arguments."""

import itertools
import math
import random

import pytest

import taeda as t
import taeda.nn.functional as F

MAXIMA = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
MEANS = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
ADAPTIVE_MAXIMA = {1: F.adaptive_max_pool1d, 2: F.adaptive_max_pool2d, 3: F.adaptive_max_pool3d}
ADAPTIVE_MEANS = {1: F.adaptive_avg_pool1d, 2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}
CASES = list(itertools.product((1, 2, 3), range(6)))
FORMATS = {2: t.channels_last, 3: t.channels_last_3d}


def count(size, kernel, stride, padding, dilation, ceil_mode):
    """How many windows there are: those over the end start before it."""
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    n = math.ceil(room / stride) + 1 if ceil_mode else room // stride + 1
    return n - 1 if ceil_mode and (n - 1) * stride >= size + padding else n


class Window:
    """Arguments of one random pooling call over a tensor of numbers in random order."""

    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.n = n
        self.kernel = [rng.randint(1, 3) for _ in range(n)]
        self.stride = [rng.randint(1, 3) for _ in range(n)]
        self.padding = [rng.randint(0, k // 2) for k in self.kernel]
        self.dilation = [rng.randint(1, 2) for _ in range(n)]
        self.ceil_mode = rng.random() < 0.5
        size = [rng.randint(5, 8) for _ in range(n)]
        self.shape = [rng.randint(1, 2), rng.randint(1, 9), *size]
        numbers = list(range(math.prod(self.shape)))
        rng.shuffle(numbers)
        self.x = t.tensor(numbers, dtype=t.float32).reshape(self.shape)

    def taps(self, dilation):
        """For each result of a plane the coordinates of its window, padding included."""
        axes = zip(self.shape[2:], self.kernel, self.stride, self.padding, dilation)
        lines = [
            [
                [o * s - p + i * d for i in range(k)]
                for o in range(count(size, k, s, p, d, self.ceil_mode))
            ]
            for size, k, s, p, d in axes
        ]
        return [list(itertools.product(*window)) for window in itertools.product(*lines)]

    def inside(self, place):
        return all(0 <= i < n for i, n in zip(place, self.shape[2:]))

    def flat(self, place):
        index = 0
        for i, n in zip(place, self.shape[2:]):
            index = index * n + i
        return index

    def planes(self, x):
        return x.reshape(-1, math.prod(self.shape[2:])).tolist()


def expected_maxima(w):
    values, indices = [], []
    for plane in w.planes(w.x):
        for window in w.taps(w.dilation):
            places = [w.flat(p) for p in window if w.inside(p)]
            best = max(places, key=lambda i: plane[i])
            values.append(plane[best])
            indices.append(best)
    return values, indices


@pytest.mark.parametrize("n, seed", CASES)
def test_maxima_and_their_places(n, seed):
    w = Window(n, seed)
    arguments = (w.kernel, w.stride, w.padding, w.dilation, w.ceil_mode)
    y, indices = MAXIMA[n](w.x, *arguments, return_indices=True)
    values, places = expected_maxima(w)
    assert y.flatten().tolist() == values
    assert indices.flatten().tolist() == places
    # Integers on a line are pooled with their places alone, as in PyTorch.
    assert t.equal(MAXIMA[n](w.x.long(), *arguments, return_indices=True)[0], y.long())
    assert t.equal(MAXIMA[n](w.x[0], *arguments), y[0])


@pytest.mark.parametrize("n, seed", CASES)
@pytest.mark.parametrize("include", [True, False])
def test_means(n, seed, include):
    w = Window(n, seed)
    w.dilation = [1] * n
    if any(size < k for size, k in zip(w.shape[2:], w.kernel)):
        pytest.skip("a window greater than the input")
    y = MEANS[n](w.x, w.kernel, w.stride, w.padding, w.ceil_mode, include)
    expected = []
    for plane in w.planes(w.x):
        for window in w.taps(w.dilation):
            ends = [size + p for size, p in zip(w.shape[2:], w.padding)]
            counted = [q for q in window if all(i < end for i, end in zip(q, ends))]
            inside = [plane[w.flat(q)] for q in window if w.inside(q)]
            expected.append(sum(inside) / (len(counted) if include else len(inside)))
    assert t.allclose(y.flatten(), t.tensor(expected), rtol=1e-5)


def adaptive_windows(w, out):
    axes = [
        [range(o * n // k, math.ceil((o + 1) * n / k)) for o in range(k)]
        for n, k in zip(w.shape[2:], out)
    ]
    return [list(itertools.product(*window)) for window in itertools.product(*axes)]


@pytest.mark.parametrize("n, seed", CASES)
def test_adaptive_windows_cover_the_input(n, seed):
    w = Window(n, seed)
    out = [random.Random(seed + 9).randint(1, 10) for _ in range(n)]
    windows = adaptive_windows(w, out)
    y, indices = ADAPTIVE_MAXIMA[n](w.x, out, return_indices=True)
    means = ADAPTIVE_MEANS[n](w.x, out)
    places, averages = [], []
    for plane in w.planes(w.x):
        for window in windows:
            flat = [w.flat(p) for p in window]
            places.append(max(flat, key=lambda i: plane[i]))
            averages.append(sum(plane[i] for i in flat) / len(flat))
    assert indices.flatten().tolist() == places
    assert t.allclose(means.flatten(), t.tensor(averages), rtol=1e-5)
    assert t.equal(y, ADAPTIVE_MAXIMA[n](w.x, out))


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_channels_that_lie_innermost_stay_there(n, dtype):
    for seed in range(4):
        w = Window(n, seed)
        x = w.x.to(getattr(t, dtype)) / 64
        last = x.to(memory_format=FORMATS[n])
        y = MAXIMA[n](x, w.kernel, w.stride, w.padding)
        z = MAXIMA[n](last, w.kernel, w.stride, w.padding)
        assert t.equal(y, z)
        assert z.is_contiguous(memory_format=FORMATS[n])
        a = MEANS[n](x, 2, 1)
        b = MEANS[n](last, 2, 1)
        assert t.allclose(a, b, rtol=1e-2)
        # Means of volumes are rows, as in PyTorch.
        assert b.is_contiguous(memory_format=FORMATS[n] if n == 2 else t.contiguous_format)


def test_channels_with_gaps_between_them_stay_innermost():
    x = t.rand(4, 8, 8, 8).contiguous(memory_format=t.channels_last)[:, ::2]
    for pool in (F.adaptive_avg_pool2d, F.adaptive_max_pool2d):
        y = pool(x, 3)
        assert y.is_contiguous(memory_format=t.channels_last)
        assert t.allclose(y, pool(x.contiguous(), 3))


def test_one_mean_per_plane_keeps_the_format_in_its_strides():
    x = t.rand(2, 3, 6, 6)
    assert F.adaptive_avg_pool2d(x, 1).stride() == (3, 1, 1, 1)
    last = x.to(memory_format=t.channels_last)
    assert F.adaptive_avg_pool2d(last, 1).stride() == (3, 1, 3, 3)


def test_channels_of_a_volume_without_a_batch_stay_innermost():
    x = t.rand(1, 8, 5, 6, 7).contiguous(memory_format=t.channels_last_3d)[0]
    y, indices = F.max_pool3d(x, 2, return_indices=True)
    assert y.stride() == indices.stride() == (1, 72, 24, 8)
    assert t.equal(y, F.max_pool3d(x.contiguous(), 2))


@pytest.mark.parametrize("layout", [t.contiguous_format, t.channels_last])
def test_the_first_of_equal_elements_is_taken(layout):
    x = t.zeros(1, 2, 4, 4).contiguous(memory_format=layout)
    _, indices = F.max_pool2d(x, 2, return_indices=True)
    assert indices[0, 1].tolist() == [[0, 2], [8, 10]]
    # The later row has the column that comes first.
    x[0, 0, 0, 1] = x[0, 0, 1, 0] = 1.0
    _, indices = F.max_pool2d(x, 2, return_indices=True)
    assert indices[0, 0, 0, 0].item() == 1


@pytest.mark.parametrize("layout", [t.contiguous_format, t.channels_last])
def test_what_is_no_number_wins(layout):
    x = t.arange(32.0).reshape(1, 2, 4, 4).contiguous(memory_format=layout)
    x[0, 0, 1, 2] = x[0, 0, 2, 1] = math.nan
    y, indices = F.max_pool2d(x, 3, 1, return_indices=True)
    assert y[0, 0].isnan().all()
    assert indices[0, 0].tolist() == [[9, 9], [9, 9]]
    assert not y[0, 1].isnan().any()


@pytest.mark.parametrize("pool", [F.max_pool2d, F.avg_pool2d])
@pytest.mark.parametrize("layout", [t.contiguous_format, t.channels_last])
def test_gradients_of_overlapping_windows_add_up(pool, layout):
    x = t.randn(2, 3, 5, 6, dtype=t.float64).contiguous(memory_format=layout).requires_grad_()
    assert t.autograd.gradcheck(lambda x: pool(x, 3, 2, 1), (x,))


def test_a_given_divisor():
    x = t.ones(1, 1, 4, 4)
    assert F.avg_pool2d(x, 2, divisor_override=3).flatten().tolist() == pytest.approx([4 / 3] * 4)


def test_empty_batches():
    assert F.max_pool2d(t.ones(0, 2, 4, 4), 2).shape == (0, 2, 2, 2)
    assert F.avg_pool3d(t.ones(0, 2, 4, 4, 4), 2).shape == (0, 2, 2, 2, 2)
    assert F.adaptive_avg_pool2d(t.ones(0, 2, 4, 4), 3).shape == (0, 2, 3, 3)


def test_unpooling_puts_elements_back():
    x = t.randn(2, 3, 6, 8)
    y, indices = F.max_pool2d(x, 2, return_indices=True)
    back = F.max_unpool2d(y, indices, 2)
    assert t.equal(t.where(back != 0, x, 0), back)
    assert (back != 0).sum().item() == y.numel()
    with pytest.raises(RuntimeError, match="Found an invalid max index: -1"):
        F.max_unpool2d(y, t.full_like(indices, -1), 2)
    with pytest.raises(RuntimeError, match="Found an invalid max index: 48"):
        F.max_unpool2d(y, t.full_like(indices, 48), 2)


def test_norms_of_windows():
    x = t.tensor([[[3.0, 4.0, 6.0, 8.0]]])
    assert F.lp_pool1d(x, 2, 2).flatten().tolist() == pytest.approx([5, 10])
    assert F.lp_pool1d(-x, math.inf, 2).flatten().tolist() == [4, 8]


def test_fractional_windows_are_inside_and_cover_the_ends():
    x = t.arange(100.0).reshape(1, 1, 10, 10)
    y, indices = F.fractional_max_pool2d(x, 2, output_size=(5, 4), return_indices=True)
    assert y.shape == (1, 1, 5, 4)
    assert y[0, 0, -1, -1].item() == 99
    assert t.equal(x.flatten()[indices.flatten()], y.flatten())
    assert F.fractional_max_pool2d(x, 2, output_ratio=0.5).shape == (1, 1, 5, 5)


@pytest.mark.parametrize("rank", [3, 4])
def test_under_vmap(rank):
    x = t.randn(4, *[2, 3, 6, 5][4 - rank :])
    batched = t.func.vmap(lambda x: F.max_pool2d(x, 2, 1) + F.adaptive_max_pool2d(x, (5, 4)))(x)
    assert t.equal(
        batched, t.stack([F.max_pool2d(e, 2, 1) + F.adaptive_max_pool2d(e, (5, 4)) for e in x])
    )


VOLUME_LAYERS = ["AvgPool3d(2, 1)", "MaxPool3d(2)", "AdaptiveAvgPool3d(2)", "AdaptiveMaxPool3d(2)"]
VOLUME_LAYERS += ["LPPool3d(2, 2)", "ReflectionPad3d(1)", "ReplicationPad3d(2)", "CircularPad3d(1)"]
VOLUME_LAYERS += ["ConstantPad3d(1, 2.0)", "Conv3d(3, 2, 2)"]


@pytest.mark.parametrize("layer", VOLUME_LAYERS)
def test_one_volume_is_no_batch_of_planes(layer):
    """Whatever its strides are: those of four dimensions may be a channels-last format's."""
    layer = eval(f"t.nn.{layer}", {"t": t})
    rows = t.randn(3, 7, 4, 5, requires_grad=True)
    last = rows.detach().contiguous(memory_format=t.channels_last).requires_grad_()
    outputs = [layer(x) for x in (rows, last)]
    assert t.allclose(*outputs, atol=1e-6)
    by = t.randn_like(outputs[0])
    grads = [t.autograd.grad(y, x, by)[0] for x, y in zip((rows, last), outputs)]
    assert t.allclose(*grads, atol=1e-6)


@pytest.mark.parametrize("n, format", [(1, None), (2, None), (2, t.channels_last), (3, None)])
def test_windows_without_elements(n, format):
    """Taps of a dilated window may step over the whole input: no element has a share in it."""
    x = t.arange(2.0 ** (n + 1)).reshape(1, 2, *[2] * n)
    x = (x.contiguous(memory_format=format) if format else x).requires_grad_()
    y, indices = MAXIMA[n](x, 2, 1, padding=1, dilation=3, return_indices=True)
    assert y.flatten().tolist() == [-math.inf] * 2
    assert indices.flatten().tolist() == [sum(2 * 2**d for d in range(n))] * 2
    y.sum().backward()
    assert not x.grad.any()


def test_windows_without_elements_along_one_dimension():
    x = t.arange(24.0).reshape(1, 1, 2, 3, 4).requires_grad_()
    y, indices = F.max_pool3d(
        x, (1, 2, 1), 1, padding=(0, 1, 0), dilation=(1, 4, 1), return_indices=True
    )
    assert y.shape == (1, 1, 2, 1, 4) and (y == -math.inf).all()
    assert (indices >= 24).all()
    y.sum().backward()
    assert not x.grad.any()


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_names_of_pooling_with_indices(dims):
    x = t.rand(1, 2, *[6] * dims)
    pool = getattr(F, f"adaptive_max_pool{dims}d")
    named = getattr(F, f"adaptive_max_pool{dims}d_with_indices")
    for given, expected in zip(named(x, 2), pool(x, 2, return_indices=True)):
        assert t.equal(given, expected)
    if dims == 1:
        return
    pool = getattr(F, f"fractional_max_pool{dims}d")
    named = getattr(F, f"fractional_max_pool{dims}d_with_indices")
    options = {"output_size": 2, "_random_samples": t.rand(1, 2, dims)}
    for given, expected in zip(named(x, 2, **options), pool(x, 2, return_indices=True, **options)):
        assert t.equal(given, expected)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_there_is_no_norm_of_order_zero(dims):
    with pytest.raises(ZeroDivisionError, match="float division by zero"):
        getattr(F, f"lp_pool{dims}d")(t.ones(1, 1, *[4] * dims), 0, 2)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_gradients_of_the_mean_of_a_plane_can_be_written_to(n):
    x = t.arange(2.0 * 3 * 4**n).reshape(2, 3, *[4] * n).requires_grad_()
    for y in (ADAPTIVE_MEANS[n](x, 1), x.mean(tuple(range(2, 2 + n)))):
        (grad,) = t.autograd.grad(y.sum(), x)
        assert grad.is_contiguous()
        assert grad.mul_(4**n).add_(1).unique().tolist() == [2.0]
