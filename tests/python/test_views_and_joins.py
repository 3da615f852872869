"""Tests of views, joins, rearrangements and factories: values, layouts, gradients, errors."""

import pytest
from under_test import t


def numbers(*shape, dtype=None):
    count = 1
    for n in shape:
        count *= n
    return t.arange(count, dtype=dtype or t.float32).reshape(shape)


def same(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and a.tolist() == b.tolist()


# ---- views ----
def test_view_of_dtype_changes_the_last_dimension():
    x = numbers(2, 4)
    assert x.view(t.int16).shape == (2, 8)
    assert x.view(t.float64).shape == (2, 2)
    assert same(x.view(t.int32).view(t.float32), x)
    with pytest.raises(RuntimeError, match="must be divisible by 2"):
        numbers(2, 3).view(t.float64)
    with pytest.raises(RuntimeError, match=r"self\.stride\(-1\) must be 1"):
        numbers(4, 2).t().view(t.float64)


def test_in_place_views_change_the_tensor_itself():
    x = numbers(2, 3)
    assert x.t_() is x and x.shape == (3, 2) and x.stride() == (1, 3)
    x.unsqueeze_(0)
    assert x.shape == (1, 3, 2)
    x.squeeze_(0)
    x.transpose_(0, 1)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("name", ["unsafe_split", "unsafe_chunk"])
def test_parts_of_an_unused_whole_may_be_written(name):
    x = numbers(4).requires_grad_()
    first, second = getattr(x * 1, name)(2)
    first.mul_(3)
    (first.sum() + second.sum()).backward()
    assert x.grad.tolist() == [3, 3, 1, 1]


@pytest.mark.parametrize(
    "view", [lambda: numbers(1, 2).expand(3, 2), lambda: numbers(2, 3).t()], ids=["expand", "t"]
)
def test_a_copy_has_shapes_that_no_view_has(view):
    copy = t.view_copy(view(), (2, -1))
    assert same(copy, view().reshape(2, 3)) and copy.is_contiguous()


def test_copies_of_complex_views():
    x = t.tensor([[1 + 2j, 3 - 1j]])
    parts = t.view_as_real_copy(x)
    assert parts.tolist() == [[[1, 2], [3, -1]]] and parts._base is None
    assert t.view_as_real_copy(x.conj()).tolist() == [[[1, -2], [3, 1]]]
    assert t.view_as_complex_copy(parts).tolist() == x.tolist()
    parts.zero_()
    assert x.tolist() == [[1 + 2j, 3 - 1j]]


def test_strides_of_single_elements_need_not_fit_complex_numbers():
    x = numbers(6).as_strided((3, 1, 2), (2, 1, 1))
    assert t.view_as_complex(x).tolist() == [[1j], [2 + 3j], [4 + 5j]]
    with pytest.raises(RuntimeError, match="stride divisible by 2"):
        t.view_as_complex(numbers(6).as_strided((2, 2), (3, 1)))


@pytest.mark.parametrize("offset", [2**63 - 1, 2**62, -(2**62), -(2**63)])
def test_a_diagonal_far_away(offset):
    assert t.diagonal(numbers(3, 3), offset).shape == (0,)
    with pytest.raises(RuntimeError):
        t.diag_embed(numbers(3), offset)


@pytest.mark.parametrize("step", [2**61, 2**62 - 1, 2**62, 2**63 - 1])
def test_a_step_out_of_the_tensor_beside_other_items(step):
    x = numbers(4, 4)
    assert x[1::step, 0:1].tolist() == [[4]] and x[1::step, None, 2].tolist() == [[6]]
    x[::step, 0:1] = -1
    assert x[:, 0].tolist() == [-1, 4, 8, 12]
    assert x.unfold(0, 2, step).shape == (1, 4, 2)


@pytest.mark.parametrize(
    "call",
    [
        lambda n: t.ops.aten.empty([n]),
        lambda n: t.ops.aten.expand(t.ones(3), [n, 3]),
        lambda n: t.ops.aten.as_strided(t.ones(3), [2], [n]),
        lambda n: t.ops.aten.as_strided_scatter(t.ones(3), t.ones(2), [2], [1], -n - 1),
    ],
    ids=["empty", "expand", "as_strided", "as_strided_scatter"],
)
@pytest.mark.parametrize("number", [-(2**62) - 1, -(2**63)])
def test_numbers_that_no_shape_has(call, number):
    with pytest.raises((RuntimeError, OverflowError)):
        call(number)


def test_parts_at_positions_that_no_shape_has():
    with pytest.raises((RuntimeError, OverflowError)):
        t.ops.aten.hsplit(t.ones(3), [-(2**63)])


@pytest.mark.parametrize("name", ["chunk", "unsafe_chunk"])
def test_many_parts(name):
    assert len(getattr(numbers(3), name)(2**62)) == 3
    assert len(getattr(numbers(0), name)(4)) == 4
    with pytest.raises(RuntimeError):
        getattr(numbers(0), name)(2**62)


def test_slices_share_memory_with_steps():
    x = numbers(10)
    x[2:8:3] = -1
    assert x.tolist() == [0, 1, -1, 3, 4, -1, 6, 7, 8, 9]


@pytest.mark.parametrize("step", [7, 2**31, 2**62, 2**63 - 1])
def test_a_step_past_the_end_leaves_one_element(step):
    x = numbers(12).reshape(3, 4)
    assert x[1::step].tolist() == [[4, 5, 6, 7]]
    assert x[:, 2::step].tolist() == [[2], [6], [10]]
    assert x[3::step].shape == (0, 4)


@pytest.mark.parametrize(
    ("view", "at"),
    [
        (lambda x: x.select(1, 2), [2, 6, 10]),
        (lambda x: x.diagonal(1), [1, 6, 11]),
        (lambda x: x.narrow(0, 1, 2)[:, 0], [4, 8]),
        (lambda x: x.unfold(1, 2, 2)[0, 1], [2, 3]),
        (lambda x: x.unflatten(1, (2, 2))[0, 1], [2, 3]),
        (lambda x: x.movedim(0, 1)[3], [3, 7, 11]),
        (lambda x: x.chunk(3, 1)[1][0], [2, 3]),
        (lambda x: x.tensor_split(3, 1)[0][0], [0, 1]),
        (lambda x: x.hsplit([1, 3])[1][0], [1, 2]),
    ],
)
def test_view_shows_these_elements(view, at):
    x = numbers(3, 4)
    assert view(x).tolist() == at
    view(x).fill_(-1)
    assert (x == -1).sum().item() == len(at)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.permute(2, 0, 1),
        lambda x: x.transpose(0, 2),
        lambda x: x[:, ::2],
        lambda x: x[1],
        lambda x: x.diagonal(0, 0, 2),
        lambda x: x.unfold(1, 2, 1),
        lambda x: x.unbind(1)[1],
        lambda x: x.split(2, 1)[1],
        lambda x: x.split([1, 2], 1)[0],
        lambda x: x.squeeze(0).unsqueeze(-1),
        lambda x: x.as_strided((2, 2), (1, 3), 1),
        lambda x: x.repeat(2, 1, 3),
        lambda x: x.roll((1, 2), (0, 1)),
        lambda x: x.flip(0, 2),
        lambda x: x.tril(1),
        lambda x: t.cat([x, x[:1]], 0),
        lambda x: t.stack([x, x * 2], 1),
    ],
)
def test_gradients_of_gradients(view):
    """The gradient of sum(w * view(x)) is linear in w: its own gradient must come back through it."""
    x = numbers(2, 3, 4, dtype=t.float64).requires_grad_()
    out = view(x)
    w = (numbers(*out.shape, dtype=t.float64) + 1).requires_grad_()
    (grad,) = t.autograd.grad((out * w).sum(), x, create_graph=True)
    v = numbers(2, 3, 4, dtype=t.float64) - 3
    (back,) = t.autograd.grad((grad * v).sum(), w)
    assert same(back, view(v))


def test_unused_views_have_no_gradient():
    x = numbers(4, 2).requires_grad_()
    parts = x.unbind(0)
    parts[1].sum().backward()
    assert x.grad.tolist() == [[0, 0], [1, 1], [0, 0], [0, 0]]


# ---- complex views ----
def test_parts_of_conjugates_are_views():
    z = t.complex(numbers(3), numbers(3) + 1)
    c = z.conj()
    assert c.is_conj() and c.imag.is_neg()
    assert c.imag.tolist() == [-1, -2, -3]
    c.imag.fill_(5)
    assert z.imag.tolist() == [-5, -5, -5]


def test_operators_see_resolved_values():
    z = t.complex(numbers(3), numbers(3) + 1)
    assert (z.conj() * 1).tolist() == [0 - 1j, 1 - 2j, 2 - 3j]
    assert (z.conj().imag + 0).tolist() == [-1, -2, -3]
    assert t.cat([z.conj(), z]).tolist()[0] == 0 - 1j


def test_writing_through_a_conjugate_keeps_the_flag():
    z = t.complex(numbers(3), numbers(3) + 1)
    c = z.conj()
    c.mul_(2)
    assert c.is_conj()
    assert z.tolist() == [2j, 2 + 4j, 4 + 6j]
    out = t.zeros(3, dtype=t.complex64).conj()
    assert t.mul(z, 1, out=out) is out and out.is_conj()
    assert out.tolist() == z.tolist()


# ---- joins ----
def test_cat_promotes_and_skips_empty_vectors():
    got = t.cat([t.tensor([1, 2]), t.empty(0), t.tensor([1.5])])
    assert got.dtype == t.float32 and got.tolist() == [1, 2, 1.5]
    assert t.cat([t.empty(0), numbers(2, 2)], 1).shape == (2, 2)


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_cat_of_any_strides(dim):
    x, y = numbers(3, 4, 5), numbers(5, 4, 3).permute(2, 1, 0) + 100
    want = t.empty(*[n * 2 if i == dim % 3 else n for i, n in enumerate(x.shape)])
    want.narrow(dim, 0, x.size(dim)).copy_(x)
    want.narrow(dim, x.size(dim), x.size(dim)).copy_(y)
    assert same(t.cat([x, y], dim), want)
    out = t.empty(want.shape).transpose(0, 1).contiguous().transpose(0, 1)
    assert t.cat([x, y], dim, out=out) is out
    assert same(out, want)


def test_cat_of_many_rows_is_independent_of_threads():
    x = numbers(1000, 37)
    want = t.cat([x, x[:, :5], x], 1)
    before = t.get_num_threads()
    t.set_num_threads(1)
    try:
        assert t.equal(t.cat([x, x[:, :5], x], 1), want)
    finally:
        t.set_num_threads(before)
    assert want[999, 37:42].tolist() == x[999, :5].tolist()


def test_cat_keeps_channels_last():
    x = t.zeros(2, 3, 4, 5).contiguous(memory_format=t.channels_last)
    assert t.cat([x, x], 1).is_contiguous(memory_format=t.channels_last)


@pytest.mark.parametrize(
    ("call", "error", "phrase"),
    [
        (lambda: t.cat([]), ValueError, "non-empty list"),
        (lambda: t.cat([t.zeros(())]), RuntimeError, "zero-dimensional tensor"),
        (
            lambda: t.cat([t.zeros(2, 3), t.zeros(3, 2)]),
            RuntimeError,
            "Expected size 3 but got size 2",
        ),
        (lambda: t.cat([t.zeros(2), t.zeros(2, 2)]), RuntimeError, "same number of dimensions"),
        (lambda: t.cat([t.zeros(2)], out=t.zeros(2, dtype=t.int64)), TypeError, "can't be cast"),
        (lambda: t.stack([t.zeros(2), t.zeros(3)]), RuntimeError, "equal size"),
        (lambda: t.zeros(2, 3).repeat(2), RuntimeError, "can not be smaller"),
        (lambda: t.zeros(2, 3).flip((0, 0)), RuntimeError, "appears multiple times"),
        (lambda: t.zeros(2, 3).roll((1, 2), 0), RuntimeError, "must align"),
        (lambda: t.zeros(3).split([1, 1]), RuntimeError, "to sum exactly to 3"),
        (lambda: t.zeros(3).unfold(0, 4, 1), RuntimeError, "maximum size"),
        (lambda: t.zeros(2, 3).permute(0, 0), RuntimeError, "duplicate dims"),
        (lambda: t.zeros(2, 3).rot90(1, (0, -2)), RuntimeError, "rotation dims to be different"),
        (lambda: t.zeros(2, 3).rot90(1, (3, 3)), IndexError, "Dimension out of range"),
        (lambda: t.zeros(()).unbind(), IndexError, "no dimensions"),
        (lambda: t.zeros(2, 3).narrow(0, 1, 2), RuntimeError, "exceeds dimension size"),
    ],
)
def test_errors(call, error, phrase):
    with pytest.raises(error, match=phrase):
        call()


def test_overlapping_out_is_refused():
    x = numbers(4)
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        t.cat([x[:2], x[1:3]], out=x)


# ---- rearrangements ----
def test_roll_and_flip_of_strided_tensors():
    x = numbers(3, 4).t()
    assert x.roll(1, 0).tolist() == [x[3].tolist(), *x[:3].tolist()]
    assert x.flip(0).tolist() == x.tolist()[::-1]
    assert x.flip(0, 1).flip(1, 0).tolist() == x.tolist()


def test_roll_without_dimensions_moves_in_logical_order():
    x = numbers(2, 3)
    assert x.t().roll(2).reshape(-1).tolist() == [2, 5, 0, 3, 1, 4]


@pytest.mark.parametrize("k", [-3, -1, 0, 2, 9])
def test_triangles_split_the_matrix(k):
    x = numbers(2, 4, 6) + 1
    assert same(x.tril(k) + x.triu(k + 1), x)
    y = x.transpose(1, 2)
    assert same(y.tril(k), y.contiguous().tril(k))
    z = x.clone()
    assert z.triu_(k) is z and same(z, x.triu(k))


def test_repeat_and_tile():
    x = numbers(2, 2)
    assert x.repeat(2, 1, 2).shape == (2, 2, 4)
    assert x.tile(2).tolist() == [[0, 1, 0, 1], [2, 3, 2, 3]]
    assert x.repeat(0, 3).shape == (0, 6)


# ---- factories ----
def test_ranges():
    assert t.arange(2, 9, 3).tolist() == [2, 5, 8]
    assert t.arange(1, 0, -0.25).tolist() == [1, 0.75, 0.5, 0.25]
    assert t.linspace(0, 1, 5).tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert t.linspace(3, 3, 1).tolist() == [3]
    assert t.logspace(0, 3, 4).tolist() == pytest.approx([1, 10, 100, 1000])
    assert t.eye(2, 3).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert t.full((2,), True).dtype == t.bool and t.full((2,), 1).dtype == t.int64


def test_factories_write_into_out():
    out = t.empty(0)
    assert t.zeros(2, 2, out=out) is out and out.tolist() == [[0, 0], [0, 0]]
    assert t.arange(4, out=t.empty(0, dtype=t.float64)).dtype == t.float64
    with pytest.raises(RuntimeError, match="does not match dtype of out parameter"):
        t.ones(2, out=out, dtype=t.int64)


def test_strides_that_no_number_holds():
    x = t.empty(())
    with pytest.raises(RuntimeError, match="Stride calculation overflowed"):
        x.resize_([0, 4, 2**61])
    with pytest.raises(RuntimeError, match="overflow"):
        x.resize_([8, 8, 2**29, 2**29])


def test_resize_to_a_format_has_memory_for_all_elements():
    x = t.ones(1, dtype=t.float16).expand(2, 3)
    x.resize_as_(t.ones(2, 3), memory_format=t.contiguous_format)
    assert x.stride() == (3, 1) and x.untyped_storage().nbytes() == 12
    y = t.ones(1).expand(2, 3, 4, 5).resize_((2, 3, 4, 5), memory_format=t.channels_last)
    assert y.stride() == (60, 1, 15, 3) and y.untyped_storage().nbytes() == 480


def test_resize_keeps_elements():
    x = numbers(6)
    assert x.resize_(2, 2) is x and x.tolist() == [[0, 1], [2, 3]]
    assert x.resize_(6).tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        t.zeros(2).requires_grad_().resize_(3)


@pytest.mark.parametrize(
    "shapes, expected",
    [
        (((2, 1), (3,)), (2, 3)),
        ((4, (1, 4)), (1, 4)),
        (((0,), (1,)), (0,)),
        (((), (2, 2)), (2, 2)),
        ((), ()),
    ],
)
def test_broadcast_shapes(shapes, expected):
    assert t.broadcast_shapes(*shapes) == expected


def test_dimensions_one_after_the_other():
    x = t.zeros(1, 2, 1)
    assert x.squeeze(0, 2).shape == x.clone().squeeze_(0, 2).shape == (2,)
    assert t.eye(3).count_nonzero(0, 1).item() == 3
    # Those of a function are one argument.
    for call in (t.squeeze, t.count_nonzero, t.permute, t.tile):
        with pytest.raises(TypeError):
            call(x, 0, 2, 1)
