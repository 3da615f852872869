"""Kernels go through memory in the order in which it lies, with sizes that are symbols as well."""

import pytest
from taeda._inductor import compile
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda as t
import taeda.nn.functional as F


def captured(f, inputs, mode="symbolic", native="never"):
    return compile(make_fx(f, tracing_mode=mode)(*inputs), inputs, native=native)


def shuffled_channels(x):
    n, c, h, w = x.shape
    return F.relu(x.view(n, 4, c // 4, h, w).transpose(1, 2).reshape(n, c, h, w) * 2)


def windows(x):
    n, h, w, c = x.shape
    parts = t.roll(x, (-4, -4), (1, 2)).view(n, h // 8, 8, w // 8, 8, c)
    return parts.permute(0, 1, 3, 2, 4, 5).reshape(-1, 64, c) * 2


def blocks(x):
    h, w = x.shape
    return x.view(h // 8, 8, w // 32, 32).permute(0, 2, 1, 3).reshape(-1, 256) * 2


def patches(x, filters, weight, bias):
    y = F.conv2d(x, filters, stride=8).flatten(2).transpose(1, 2)
    return F.layer_norm(y, (y.shape[-1],), weight, bias)


# Names: a function and the sizes of its inputs.
VIEWS = {
    "shuffled channels": (shuffled_channels, [(3, 12, 6, 38)]),
    "windows": (windows, [(2, 16, 24, 33)]),
    "blocks": (blocks, [(48, 160)]),
    "patches": (patches, [(2, 3, 40, 48), (24, 3, 8, 8), (24,), (24,)]),
    "repeated": (lambda x: x.repeat(2, 3) * 2, [(30, 37)]),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("mode", ["symbolic", "fake"])
@pytest.mark.parametrize("name", VIEWS)
def test_places_behind_views_are_steps_of_memory(name, mode):
    """Not lane by lane, with quotients for each."""
    f, sizes = VIEWS[name]
    inputs = [t.randn(*size) for size in sizes]
    compiled = captured(f, inputs, mode)
    assert "td_each_lane" not in compiled.source()
    assert t.equal(compiled(*inputs), f(*inputs))
    assert t.equal(captured(f, inputs, mode, "only")(*inputs), f(*inputs))


@pytest.mark.parametrize("mode", ["symbolic", "fake"])
@pytest.mark.parametrize("dims", [0, 1, (0, 1)])
def test_columns_of_several_passes_are_reduced_side_by_side(dims, mode):
    x = t.randn(37, 33, 50)
    for f in (lambda x: (x * 2).var(dims), lambda x: x.logsumexp(dims)):
        compiled = captured(f, [x], mode)
        assert "td_each_lane" not in compiled.source()
        got = captured(f, [x], mode, "only")(x)
        assert t.equal(got, compiled(x)) and t.allclose(got, f(x), 1e-5, 1e-6)


# Names: a reduction of few elements, and the sizes of its input.
SHORT_ROWS = {
    "argmax": (lambda x: x.argmax(-1), (3, 70, 8)),
    "max": (lambda x: t.cat([v.double() for v in x.max(-1)]), (150, 33)),
    "sum": (lambda x: (x * 2).sum(-1), (150, 6)),
    "two axes": (lambda x: x.amax((1, 2)), (150, 3, 4)),
}


@pytest.mark.parametrize("name", SHORT_ROWS)
def test_short_rows_are_reduced_side_by_side(name):
    f, size = SHORT_ROWS[name]
    x = t.randn(*size)
    x[..., -1:][x[..., -1:] > 1] = float("nan")
    compiled = captured(f, [x], "fake")
    assert "td_wide_source" not in compiled.source()  # vectors are not along rows
    got = captured(f, [x], "fake", "only")(x)
    for other in (compiled(x), f(x)):
        assert t.allclose(got, other, 0, 0, equal_nan=True)


@pytest.mark.parametrize("dtype", [t.float32, t.float64, t.int64])
@pytest.mark.parametrize("size", [(3, 4100), (4100, 35), (37, 79), (20, 5)])
def test_places_of_extremes_are_the_first_ones(size, dtype):
    """Of equal elements, NaNs and zeros of both signs the first, whatever part of a run has it."""
    x = t.randint(-3, 4, size).to(dtype)
    if dtype.is_floating_point:
        x[x == 0] *= -1.0
        x[::2][x[::2] == -0.0] = 0.0
        x[-2:, 1::2] = float("-inf")
        x[:, 7 % size[1] :: 9] = float("nan")
        x[:, ::2][:, -1:] = float("inf")

    def f(x):
        return *x.max(1), *x.min(0), x.argmin(1), x.argmax(0), x[:, ::2].argmax(1), x.argmin()

    compiled = captured(f, [x], "symbolic", "only")
    assert "td_place_row" in compiled.source() and "td_place_columns" in compiled.source()
    for got, expected in zip(compiled(x), f(x), strict=True):
        assert t.equal(got.view(-1).view(t.uint8), expected.view(-1).view(t.uint8))


@pytest.mark.parametrize("columns", [15, 16, 17, 64, 79, 150, 4100])
def test_any_and_all_of_rows_need_no_tree(columns):
    x = t.zeros(2 * columns + 2, columns)
    for row in range(columns):
        x[row, row] = x[-1 - row, : row + 1] = 1.0  # rows of one truth, and those true up to one

    def f(x):
        return (x > 0).any(1), (x > 0).all(1), (x == 0).all(1)

    compiled = captured(f, [x], "symbolic", "only")
    assert "td_truth_row" in compiled.source()
    for got, expected in zip(compiled(x), f(x), strict=True):
        assert t.equal(got, expected)


@pytest.mark.parametrize("mode", ["symbolic", "fake"])
def test_axes_are_merged_in_the_order_of_memory(mode):
    """A few channels that lie innermost are no loop of their own."""
    x = t.randint(0, 256, (3, 20, 30, 3), dtype=t.uint8).permute(0, 3, 1, 2)

    def f(x):
        return x.float() / 255

    compiled = captured(f, [x], mode)
    loops = [line for line in compiled.source().splitlines() if line.strip().startswith("for (")]
    assert len(loops) == 2  # vectors side by side, and one by one
    got = captured(f, [x], mode, "only")(x)
    assert t.equal(got, f(x)) and got.stride() == f(x).stride()


@pytest.mark.parametrize("dims", [(0, 2), (1,), (2,)])
def test_pieces_between_turns_of_an_index_are_read_at_once(dims):
    """Where a vector lies within one quotient of the index its elements are neighbours."""
    x = t.randn(17, 5, 130)
    compiled = captured(lambda x: x.var((0, 2)), [x])
    assert "? td_read_lanes" in compiled.source()
    got = captured(lambda x: x.var(dims), [x], native="only")(x)
    assert t.allclose(got, x.var(dims), 1e-5, 1e-6)


@pytest.mark.parametrize("mode", ["symbolic", "fake"])
def test_every_other_element_is_a_loop_of_its_own(mode):
    """As gradients of slices have steps, no mask is asked and no vector gathered."""
    g, x = t.randn(14, 33), t.randn(14, 66)

    def f(g, x):
        y = t.zeros_like(x)
        return t.slice_scatter(y, g * x[:, 1::2], 1, 0, None, 2) + 1

    compiled = captured(f, [g, x], mode)
    assert "td_no_lane" not in compiled.source()
    assert t.equal(compiled(g, x), f(g, x))
    assert t.equal(captured(f, [g, x], mode, "only")(g, x), f(g, x))


def test_columns_that_lie_nearly_side_by_side_are_reduced_together():
    x = t.randn(20, 60, 2)
    compiled = captured(lambda x: (x[..., 0] * x[..., 1]).sum(0), [x], "fake")
    assert "td_wide_source" not in compiled.source()  # vectors are not along rows
    got = captured(lambda x: (x[..., 0] * x[..., 1]).sum(0), [x], "fake", "only")(x)
    assert t.equal(got, compiled(x)) and t.equal(got, (x[..., 0] * x[..., 1]).sum(0))


def test_columns_that_fill_no_vector_are_rows():
    x = t.randn(2, 16, 32, 32).contiguous(memory_format=t.channels_last)

    def f(x):
        return F.group_norm(x, 2)  # statistics of two chunks per group

    compiled = captured(f, [x], "fake")
    assert "td_wide_source" in compiled.source()  # vectors are along rows
    got = captured(f, [x], "fake", "only")(x)
    assert t.equal(got, compiled(x)) and t.equal(got, f(x))


@pytest.mark.parametrize("dtype", [t.uint8, t.int8, t.int16, t.int32])
def test_integers_of_few_bits_are_read_and_written_together(dtype):
    x = t.randint(-128, 127, (7, 45)).to(dtype)

    def f(x):
        return x * 3 - 1, (x + 5).float() / 7, x % 7

    compiled = captured(f, [x], "fake")
    assert "td_read_short" in compiled.source() and "td_write_short" in compiled.source()
    for got, want in zip(captured(f, [x], "fake", "only")(x), f(x), strict=True):
        assert got.dtype == want.dtype and t.equal(got, want)


def test_indices_are_checked_together():
    x, i = t.randn(9, 50), t.randint(-50, 50, (77,))
    compiled = captured(lambda x, i: x[:, i] * 2, [x, i], "fake", "only")
    assert "td_checked_lanes" in compiled.source()
    assert t.equal(compiled(x, i), x[:, i] * 2)
    i[60] = 50
    with pytest.raises(IndexError, match="index 50 is out of bounds"):
        compiled(x, i)


def test_values_of_a_whole_row_are_found_before_it():
    """Loads and divisions that no element of a reduction changes are no part of its loop."""
    x, y, z = t.randn(6, 70), t.randn(6), t.rand(1) + 1
    compiled = captured(lambda x, y, z: (x * (y / z)[:, None]).sum(1), [x, y, z], "fake", "only")
    line = next(one for one in compiled.source().splitlines() if "const auto wide0 = " in one)
    assert "[&] {" in line
    assert t.equal(compiled(x, y, z), (x * (y / z)[:, None]).sum(1))
    assert captured(lambda x, y: (x * y).sum(1), [x[:, :0], y[:, None]], "fake", "only")(
        x[:, :0], y[:, None]
    ).equal(t.zeros(6))


def test_gradients_of_sampled_grids_are_one_call():
    x, grid = t.randn(2, 3, 6, 7), t.rand(2, 5, 4, 2) * 2 - 1

    def f(x, grid):
        x, grid = x.detach().requires_grad_(), grid.detach().requires_grad_()
        y = F.grid_sample(x, grid, align_corners=False)
        return t.autograd.grad(y.sum(), (x, grid))

    compiled = captured(f, [x, grid], "fake")
    assert "grid_sampler_2d_backward" in compiled.report()[0]["called"]
    for got, want in zip(compiled(x, grid), f(x, grid), strict=True):
        assert t.equal(got, want)
