"""Interpolation and grids against their formulas, written for one element at a time."""

import itertools
import math
import platform
import random

import pytest

import taeda as t
import taeda.nn.functional as F


def cubic(x, a):
    x = abs(x)
    if x < 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * (x**3 - 5 * x**2 + 8 * x - 4) if x < 2 else 0.0


def sinc(x):
    return math.sin(math.pi * x) / (math.pi * x) if x else 1.0


def triangle(x):
    return max(0.0, 1 - abs(x))


def weights(mode, n, out, align_corners, antialias):
    """For each result the weight of every element of its line."""
    step = (n - 1) / (out - 1) if align_corners and out > 1 else 0 if align_corners else n / out
    rows = []
    for o in range(out):
        row = [0.0] * n
        place = o * step if align_corners else (o + 0.5) * step - 0.5
        if mode == "nearest":
            row[min(math.floor(o * n / out), n - 1)] = 1.0
        elif mode == "nearest-exact":
            row[min(math.floor((o + 0.5) * n / out), n - 1)] = 1.0
        elif antialias:
            reach = {"bilinear": 1, "bicubic": 2, "lanczos": 3}[mode]
            stretch, center = max(step, 1.0), (o + 0.5) * step
            filters = {
                "bilinear": triangle,
                "bicubic": lambda x: cubic(x, -0.5),
                "lanczos": lambda x: sinc(x) * sinc(x / 3) if abs(x) < 3 else 0.0,
            }
            first = max(int(center - reach * stretch + 0.5), 0)
            for i in range(first, min(int(center + reach * stretch + 0.5), n)):
                row[i] = filters[mode]((i + 0.5 - center) / stretch)
            row = [w / sum(row) for w in row]
        else:
            for k in range(-1, 3):
                i = math.floor(place) + k
                distance = place - i
                w = cubic(distance, -0.75) if mode == "bicubic" else triangle(distance)
                row[min(max(i, 0), n - 1)] += w
        rows.append(row)
    return t.tensor(rows, dtype=t.float64)


def expected(x, size, mode, align_corners=False, antialias=False):
    for d, out in enumerate(size, 2):
        matrix = weights(mode, x.size(d), out, align_corners, antialias)
        x = (x.movedim(d, -1).double() @ matrix.T).movedim(-1, d)
    return x


LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}


def image(n, seed):
    rng = random.Random(seed)
    x = t.randn(2, 3, *[rng.randint(2, 7) for _ in range(n)])
    return x, [rng.randint(1, 9) for _ in range(n)]


CASES = list(itertools.product((1, 2, 3), range(5)))


@pytest.mark.parametrize("n, seed", CASES)
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_copies_of_the_nearest(n, seed, mode):
    x, size = image(n, seed)
    assert t.equal(F.interpolate(x, size, mode=mode), expected(x, size, mode).float())


@pytest.mark.parametrize("n, seed", CASES)
@pytest.mark.parametrize("align_corners", [False, True])
def test_linear(n, seed, align_corners):
    x, size = image(n, seed)
    y = F.interpolate(x, size, mode=LINEAR[n], align_corners=align_corners)
    assert t.allclose(y.double(), expected(x, size, LINEAR[n], align_corners), atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("align_corners", [False, True])
def test_cubic(seed, align_corners):
    x, size = image(2, seed)
    y = F.interpolate(x, size, mode="bicubic", align_corners=align_corners)
    assert t.allclose(y.double(), expected(x, size, "bicubic", align_corners), atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
def test_filters_as_wide_as_the_result(seed, mode):
    x, size = image(2, seed)
    y = F.interpolate(x, size, mode=mode, antialias=True)
    assert t.allclose(y.double(), expected(x, size, mode, antialias=True), atol=1e-5)


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_channels_that_lie_innermost_stay_there(mode, dtype):
    x = t.randn(2, 5, 4, 6).to(getattr(t, dtype))
    last = x.to(memory_format=t.channels_last)
    y, z = F.interpolate(x, (7, 3), mode=mode), F.interpolate(last, (7, 3), mode=mode)
    assert t.allclose(y, z, rtol=1e-2, atol=1e-6)
    assert z.is_contiguous(memory_format=t.channels_last)


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic", "area"])
@pytest.mark.parametrize("layout", [t.contiguous_format, t.channels_last])
def test_gradients(mode, layout):
    x = t.randn(2, 3, 4, 3, dtype=t.float64).contiguous(memory_format=layout).requires_grad_()
    assert t.autograd.gradcheck(lambda x: F.interpolate(x, (3, 5), mode=mode), (x,))


def test_factors_count_themselves_unless_recomputed():
    x = t.arange(4.0).reshape(1, 1, 4)
    y = F.interpolate(x, scale_factor=1.6, mode="linear")
    z = F.interpolate(x, scale_factor=1.6, mode="linear", recompute_scale_factor=True)
    assert y.shape == z.shape == (1, 1, 6)
    assert t.allclose(z, expected(x, [6], "linear").float())
    assert not t.allclose(y, z)


def test_bytes_are_rounded():
    x = t.tensor([[[[0, 255], [255, 0]]]], dtype=t.uint8)
    y = F.interpolate(x, (2, 3), mode="bilinear")
    assert y.dtype == t.uint8 and y[0, 0].tolist() == [[0, 128, 255], [255, 128, 0]]


def test_rows_of_bytes_are_rounded_before_columns():
    x = t.tensor([[0, 1], [0, 1]], dtype=t.uint8).repeat(2, 1)[None, None]
    assert F.interpolate(x, (1, 1), mode="bilinear", antialias=True).item() == 1
    # 0.5 becomes 1 in the first pass, and a half of 1 and 0 becomes 1 in the second.
    y = t.tensor([[[[0, 1], [0, 0]]]], dtype=t.uint8)
    assert F.interpolate(y, (1, 1), mode="bilinear").item() == 1


def test_an_axis_of_bytes_that_keeps_its_size_is_copied():
    x = t.randint(0, 256, (1, 3, 8, 8), dtype=t.uint8)
    for mode in ("bilinear", "bicubic"):
        assert t.equal(F.interpolate(x, scale_factor=1.05, mode=mode), x)


@pytest.mark.parametrize(
    "mode, wide", [("bilinear", 0), ("bilinear", 1), ("bicubic", 0), ("bicubic", 1)]
)
@pytest.mark.parametrize("channels", [1, 3, 6])
@pytest.mark.parametrize("size", [(13, 14), (3, 4), (9, 20), (40, 7), (9, 11)])
def test_images_of_bytes_are_pytorchs(torch, mode, wide, channels, size):
    numbers = t.randint(0, 256, (2, channels, 9, 11), dtype=t.uint8)
    options = {"size": size, "mode": mode, "antialias": bool(wide)}

    def resized(module, x, layout, corners):
        x = x.contiguous(memory_format=getattr(module, layout))
        made = module.nn.functional.interpolate(x, align_corners=corners, **options)
        return made.tolist()

    for given in itertools.product(("contiguous_format", "channels_last"), (False, True)):
        theirs = resized(torch, torch.from_numpy(numbers.numpy()), *given)
        assert resized(t, numbers, *given) == theirs


@pytest.mark.parametrize(
    "call, error, phrase",
    [
        ({"size": 3, "scale_factor": 2}, ValueError, "only one of size or scale_factor"),
        ({}, ValueError, "either size or scale_factor should be defined"),
        ({"size": [3]}, ValueError, "must have the same number of spatial dimensions"),
        ({"size": 3, "align_corners": True}, ValueError, "align_corners option can only be set"),
        (
            {"size": 3, "mode": "linear"},
            NotImplementedError,
            "Got 4D input, but linear mode needs 3D",
        ),
        ({"size": 3, "mode": "best"}, NotImplementedError, "Only 3D, 4D and 5D input"),
        ({"size": 3, "antialias": True}, ValueError, "Anti-alias option is restricted"),
        ({"size": 0}, RuntimeError, "Input and output sizes should be greater than 0"),
        (
            {"size": 3, "recompute_scale_factor": True},
            ValueError,
            "not meaningful with an explicit",
        ),
    ],
)
def test_errors(call, error, phrase):
    with pytest.raises(error, match=phrase):
        F.interpolate(t.ones(1, 1, 4, 4), **call)


# ---- grids ----
def test_the_identity_grid_gives_the_image():
    x = t.randn(2, 3, 4, 5)
    theta = t.tensor([[[1.0, 0, 0], [0, 1, 0]]]).expand(2, 2, 3)
    for align_corners in (False, True):
        grid = F.affine_grid(theta, x.shape, align_corners)
        for mode in ("bilinear", "nearest", "bicubic"):
            y = F.grid_sample(x, grid, mode, align_corners=align_corners)
            assert t.allclose(y, x, atol=1e-5)


def place(v, n, padding, align_corners):
    v = (v + 1) / 2 * (n - 1) if align_corners else ((v + 1) * n - 1) / 2
    if padding == "reflection":
        low, span = (0, n - 1) if align_corners else (-0.5, n)
        v = abs(v - low) % (2 * span)
        v = low + (v if v < span else 2 * span - v)
    return v if padding == "zeros" else min(max(v, 0), n - 1)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("n", [2, 3])
def test_linear_samples(padding, align_corners, n):
    x = t.randn(1, 2, *(4, 5, 3)[:n], dtype=t.float64)
    grid = t.rand(1, 6, *(1,) * (n - 1), n, dtype=t.float64) * 4 - 2
    y = F.grid_sample(x, grid, padding_mode=padding, align_corners=align_corners)
    for i, at in enumerate(grid.reshape(6, n).tolist()):
        places = [place(v, s, padding, align_corners) for v, s in zip(at[::-1], x.shape[2:])]
        total = t.zeros(2, dtype=t.float64)
        for corner in itertools.product((0, 1), repeat=n):
            index = [math.floor(p) + c for p, c in zip(places, corner)]
            if all(0 <= j < s for j, s in zip(index, x.shape[2:])):
                total += x[(0, slice(None), *index)] * math.prod(
                    triangle(p - j) for p, j in zip(places, index)
                )
        assert t.allclose(y[0].reshape(2, 6)[:, i], total)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_gradients_of_image_and_grid(mode, padding):
    x = t.randn(2, 2, 4, 3, dtype=t.float64, requires_grad=True)
    grid = (t.rand(2, 3, 2, 2, dtype=t.float64) * 2.6 - 1.3).requires_grad_()

    def f(x, grid):
        return F.grid_sample(x, grid, mode, padding, align_corners=False)

    assert t.autograd.gradcheck(f, (x, grid))


def test_grid_arguments():
    x, grid = t.ones(1, 1, 2, 2), t.zeros(1, 1, 1, 2)
    with pytest.raises(ValueError, match="expected mode to be 'bilinear', 'nearest' or 'bicubic'"):
        F.grid_sample(x, grid, "cubic")
    with pytest.warns(UserWarning, match="Default grid_sample and affine_grid behavior"):
        F.grid_sample(x, grid)
    with pytest.raises(RuntimeError, match="expected grid and input to have same batch size"):
        F.grid_sample(x, t.zeros(2, 1, 1, 2), align_corners=False)


ODD_PLACES = [float("nan"), float("inf"), -float("inf"), 0.3, -1.0, 2.5]


@pytest.mark.skipif(
    platform.machine() == "aarch64",
    reason="PyTorch converts NaN and infinity to other places on this processor",
)
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("ndim", [2, 3])
def test_places_that_are_no_numbers_are_pytorchs(torch, ndim, mode, padding):
    if ndim == 3 and mode == "bicubic":
        pytest.skip("there is no such mode")

    def result(lib):
        sizes = (3, 4, 5)[3 - ndim :]
        image = lib.arange(1.0, 1.0 + math.prod(sizes)).reshape(1, 1, *sizes)
        grid = lib.tensor(list(itertools.product(ODD_PLACES, repeat=ndim)))
        grid = grid.reshape(1, *[1] * (ndim - 1), -1, ndim)
        sample = lib.nn.functional.grid_sample
        return [sample(image, grid, mode, padding, align_corners=a).tolist() for a in (True, False)]

    for ours, theirs in zip(result(t), result(torch), strict=True):
        assert t.allclose(t.tensor(ours), t.tensor(theirs), equal_nan=True)


def test_places_that_are_no_numbers_have_no_share_in_the_image():
    image = t.ones(1, 1, 3, 3, requires_grad=True)
    grid = t.tensor([[[[0.1, 0.2], [float("nan"), 0.0]]]], requires_grad=True)
    output = F.grid_sample(image, grid, align_corners=True)
    output.sum().backward()
    assert output.isnan().tolist() == [[[[False, True]]]]
    assert image.grad.isfinite().all()
    assert grid.grad[0, 0, 1].isnan().tolist() == [False, True]
    assert grid.grad[0, 0, 0].isfinite().all()


def taken(x, scale, mode):
    """Which rows of an image, whose elements are the number of their row, the results are."""
    n = x.dim() - 2
    y = F.interpolate(x, scale_factor=(scale, *[1.0] * (n - 1)), mode=mode)
    return y[(0, 0, slice(None), *[0] * (n - 1))].tolist()


def rows(n, count, channels, width, dtype):
    x = t.arange(float(count)).reshape(1, 1, count, *[1] * (n - 1))
    return x.expand(1, channels, count, *[width] * (n - 1)).to(dtype).contiguous()


@pytest.mark.parametrize("dtype", [t.float32, t.float64, t.bfloat16, t.uint8])
def test_an_image_that_keeps_its_size_is_copied(dtype):
    for layout in (t.contiguous_format, t.channels_last):
        x = rows(2, 3, 5, 4, dtype).contiguous(memory_format=layout)
        assert taken(x, 1.3, "nearest") == [0, 1, 2]
        assert taken(x, 2.1, "nearest") == [0, 0, 1, 1, 2, 2]
        assert taken(x, 1.3, "nearest-exact") == [0, 1, 1]
    # Lines, and large planes whose channels lie apart, follow the scale.
    assert taken(rows(1, 3, 5, 1, dtype), 1.3, "nearest") == [0, 0, 1]
    wide = rows(2, 3, 5, 126, dtype)
    assert taken(wide, 1.3, "nearest") == [0, 0, 1]
    assert taken(wide.contiguous(memory_format=t.channels_last), 1.3, "nearest") == [0, 1, 2]
    assert taken(rows(2, 3, 5, 125, dtype), 1.3, "nearest") == [0, 1, 2]


def test_the_gradient_of_an_image_that_keeps_its_size_is_itself():
    x = rows(2, 3, 1, 4, t.float64).requires_grad_()
    weight = t.arange(12.0, dtype=t.float64).reshape(1, 1, 3, 4)
    F.interpolate(x, scale_factor=(1.3, 1.0), mode="nearest").backward(weight)
    assert x.grad.tolist() == weight.tolist()


@pytest.mark.parametrize("scale", [0.6, 1.07, 1.3, 2.0, 2.04, 2.7, 3.3])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_nearest_places_are_pytorchs(torch, mode, scale):
    def result(lib, n, count, channels, width, dtype, layout):
        x = lib.arange(float(count)).reshape(1, 1, count, *[1] * (n - 1))
        x = x.expand(1, channels, count, *[width] * (n - 1)).to(getattr(lib, dtype))
        x = x.contiguous(memory_format=getattr(lib, layout))
        scales = (scale, *[1.0] * (n - 1))
        return lib.nn.functional.interpolate(x, scale_factor=scales, mode=mode).tolist()

    layouts = {1: ["contiguous_format"], 2: ["contiguous_format", "channels_last"]}
    layouts[3] = ["contiguous_format", "channels_last_3d"]
    for n, count, channels, width in itertools.product(
        (1, 2, 3), (2, 3, 7, 16, 31), (1, 4), (1, 4)
    ):
        for dtype, layout in itertools.product(("float32", "float64"), layouts[n]):
            given = (n, count, channels, width, dtype, layout)
            assert result(t, *given) == result(torch, *given), given
