"""Tests indexing and assignment: random expressions against NumPy, and the special cases."""

import random

import pytest
from under_test import t

np = pytest.importorskip("numpy")

EXPRESSIONS = 300


def random_slice(rng, size):
    bounds = [None, *range(-size - 2, size + 3)]
    return slice(rng.choice(bounds), rng.choice(bounds), rng.choice([None, 1, 2, 3]))


def random_integers(rng, size):
    """Distinct positions, some counted from the end, in one or two dimensions."""
    positions = rng.sample(range(size), rng.randint(1, size))
    positions = [p - size if rng.random() < 0.3 else p for p in positions]
    shape = rng.choice([(-1,), (-1, 1), (1, -1)])
    return np.array(positions).reshape(shape)


def random_expression(rng, shape, has_arrays):
    """A list of index parts for an array of this shape; integer arrays broadcast together."""
    parts, dim, has_ellipsis, array_length = [], 0, False, None
    while dim < len(shape) and rng.random() < 0.9:
        size = shape[dim]
        kinds = ["int", "slice", "slice", "none"]
        kinds += [] if has_ellipsis else ["ellipsis"]
        kinds += ["integers", "mask"] if has_arrays else []
        kind = rng.choice(kinds)
        if kind == "int" and size > 0:
            parts.append(rng.randint(-size, size - 1))
            dim += 1
        elif kind == "slice":
            parts.append(random_slice(rng, size))
            dim += 1
        elif kind == "none":
            parts.append(None)
        elif kind == "ellipsis":
            parts.append(Ellipsis)
            has_ellipsis = True
            dim += rng.randint(0, len(shape) - dim)
        elif kind == "integers" and array_length in (None, 1):
            integers = random_integers(rng, size)
            array_length = max(array_length or 1, integers.size)
            parts.append(integers)
            dim += 1
        elif kind == "mask" and array_length is None and not has_ellipsis:
            count = rng.randint(1, min(2, len(shape) - dim))
            mask = np.array([rng.random() < 0.5 for _ in range(np.prod(shape[dim : dim + count]))])
            array_length = int(mask.sum()) if mask.sum() != 1 else 0
            parts.append(mask.reshape(shape[dim : dim + count]))
            dim += count
    return parts


def in_two_steps(parts):
    """Splits an expression as PyTorch reads it: integers, slices and None first, then arrays."""
    basic, advanced = [], []
    for part in parts:
        if isinstance(part, np.ndarray):
            ndim = part.ndim if part.dtype == bool else 1
            basic += [slice(None)] * ndim
            advanced.append(part)
        elif isinstance(part, int):
            basic.append(part)
        else:
            basic.append(part)
            advanced.append(Ellipsis if part is Ellipsis else slice(None))
    if Ellipsis not in [part for part in basic if not isinstance(part, np.ndarray)]:
        basic.append(Ellipsis)
    return tuple(basic), tuple(advanced)


def as_tensors(parts):
    return tuple(t.tensor(p.tolist()) if isinstance(p, np.ndarray) else p for p in parts)


def random_case(seed):
    rng = random.Random(seed)
    shape = tuple(rng.randint(1, 5) for _ in range(rng.randint(1, 4)))
    parts = random_expression(rng, shape, has_arrays=seed % 2 == 1)
    return rng, shape, parts


def base_arrays(shape):
    numbers = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    return numbers, t.arange(numbers.size).reshape(shape)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(EXPRESSIONS))
def test_reading_agrees_with_numpy(seed):
    _, shape, parts = random_case(seed)
    numbers, tensor = base_arrays(shape)
    basic, advanced = in_two_steps(parts)
    expected = numbers[basic][advanced]
    result = tensor[as_tensors(parts)]
    assert tuple(result.shape) == expected.shape, parts
    assert result.tolist() == expected.tolist(), parts
    has_arrays = any(isinstance(part, np.ndarray) for part in parts)
    result.fill_(-5)
    assert (-5 in tensor) == (not has_arrays and result.numel() > 0)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(EXPRESSIONS))
def test_assignment_agrees_with_numpy(seed):
    rng, shape, parts = random_case(seed)
    numbers, tensor = base_arrays(shape)
    basic, advanced = in_two_steps(parts)
    target = numbers[basic]
    result_shape = target[advanced].shape
    kind = rng.choice(["number", "full", "trailing", "ones"])
    if kind == "number":
        value, value_tensor = -7, -7
    else:
        value_shape = {
            "full": result_shape,
            "trailing": result_shape[rng.randint(0, len(result_shape)) :],
            "ones": tuple(1 if rng.random() < 0.5 else size for size in result_shape),
        }[kind]
        value = -np.arange(1, 1 + int(np.prod(value_shape))).reshape(value_shape)
        value_tensor = -t.arange(1, 1 + value.size).reshape(value_shape)
    target[advanced] = value
    tensor[as_tensors(parts)] = value_tensor
    assert tensor.tolist() == numbers.tolist(), (parts, kind)


class TestSpecialCases:
    def test_lists_and_tuples(self):
        x = t.arange(12).reshape(3, 4)
        assert x[[0, 2]].tolist() == [[0, 1, 2, 3], [8, 9, 10, 11]]
        assert x[(1, 2)].item() == 6
        assert x[[0, 1], [1, 2]].tolist() == [1, 6]
        assert x[[True, False, True]].shape == (2, 4)

    def test_python_bools_add_a_dimension(self):
        x = t.arange(3)
        assert x[True].shape == (1, 3) and x[False].shape == (0, 3)
        assert t.tensor(5)[True].tolist() == [5]

    def test_zero_dim_tensors_select(self):
        x = t.arange(6).reshape(2, 3)
        assert x[t.tensor(1)].tolist() == [3, 4, 5]
        assert x[:, t.tensor(-1)].tolist() == [2, 5]
        assert x[t.tensor(1) :].tolist() == [[3, 4, 5]]

    def test_zero_dim_masks(self):
        x = t.tensor(3)
        assert x[t.tensor(True)].tolist() == [3] and x[t.tensor(False)].tolist() == []
        x[t.tensor(True)] = 9
        assert x.item() == 9

    def test_zero_dim_with_none_and_ellipsis(self):
        x = t.tensor(3)
        assert x[None].shape == (1,) and x[...].item() == 3 and x[()].item() == 3
        x[...] = 4
        assert x.item() == 4

    def test_index_dtypes(self):
        x = t.arange(4) * 10
        for dtype in (t.int32, t.int64):
            assert x[t.tensor([3, 0], dtype=dtype)].tolist() == [30, 0]

    def test_empty_index_tensors(self):
        x = t.arange(6).reshape(2, 3)
        assert x[t.tensor([], dtype=t.int64)].shape == (0, 3)
        assert x[x > 100].shape == (0,)
        x[x > 100] = 1
        assert x.tolist() == [[0, 1, 2], [3, 4, 5]]

    def test_separated_index_tensors_go_to_the_front(self):
        x = t.arange(24).reshape(2, 3, 4)
        i = t.tensor([0, 1, 1, 0, 1])
        assert x[i, :, i].shape == (5, 3) and x[:, i, i].shape == (2, 5)

    def test_masked_assignment_from_tensor(self):
        x = t.zeros(2, 3)
        x[t.tensor([[True, False, True], [False, True, False]])] = t.tensor([1.0, 2.0, 3.0])
        assert x.tolist() == [[1, 0, 2], [0, 3, 0]]

    def test_assignment_converts_dtype(self):
        x = t.zeros(3, dtype=t.int64)
        x[0] = 2.9
        x[1:] = t.tensor([1.5, 3.5])
        assert x.tolist() == [2, 1, 3]

    def test_assignment_of_self_overlap(self):
        x = t.arange(6)
        x[:] = x.clone().flip(0)
        assert x.tolist() == [5, 4, 3, 2, 1, 0]

    def test_gradient_flows_through_reading_and_writing(self):
        x = t.ones(4, requires_grad=True)
        y = x * 1
        y[1] = 0
        y[t.tensor([2, 2])].sum().backward()
        assert x.grad.tolist() == [0, 0, 2, 0]
        x.grad = None
        y = x * 1
        y[1:3] = t.zeros(2)
        y.sum().backward()
        assert x.grad.tolist() == [1, 0, 0, 1]

    def test_index_put_accumulates(self):
        x = t.zeros(3)
        x.index_put_((t.tensor([1, 1, 2]),), t.ones(3), accumulate=True)
        assert x.tolist() == [0, 2, 1]


def test_numbers_in_a_list_are_cut_to_integers():
    x = t.arange(5)
    assert x[[1.0, 2.9]].tolist() == [1, 2] and x[[]].tolist() == []
    with pytest.raises(IndexError):
        x[t.tensor([1.0])]


def test_byte_masks_are_deprecated():
    x = t.arange(3)
    mask = t.tensor([1, 0, 1], dtype=t.uint8)
    with pytest.warns(UserWarning, match="indexing with dtype torch.uint8 is now deprecated") as w:
        assert x[mask].tolist() == [0, 2]
        x.index_put_((mask,), t.tensor([5, 6]))
    assert len(w) == 2 and x.tolist() == [5, 1, 6]


def test_leading_ones_of_what_is_assigned_do_not_count():
    x, i = t.zeros(4), t.arange(4)
    x[i] = t.arange(4.0).view(1, 1, 4)
    assert x.tolist() == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="shape mismatch"):
        x.index_put_((i,), t.ones(1, 4))


def test_at_least_one_index_is_given():
    with pytest.raises(IndexError, match="at least one index must be provided"):
        t.ops.aten.index(t.ones(3), [])


def test_shapes_are_compared_before_dtypes():
    x, mask = t.arange(4), t.tensor([True, False, True, True])
    with pytest.raises(RuntimeError, match=r"shape mismatch: value tensor of shape \[2\]"):
        x[mask] = t.ones(2)
    with pytest.raises(RuntimeError, match="Index put requires the source and destination dtypes"):
        x[mask] = t.ones(3)


def test_index_put_is_a_function_too():
    x = t.zeros(3)
    assert t.index_put_(x, (t.tensor([0, 2]),), t.ones(2), True) is x and x.tolist() == [1, 0, 1]


def test_sizes_are_compared():
    assert t.ones(2, 3).is_same_size(t.zeros(2, 3)) and not t.ones(2).is_same_size(t.ones(2, 1))


class TestAssignmentUnderMasks:
    def test_one_value_of_another_dtype_is_converted(self):
        x = t.arange(4, dtype=t.float64).reshape(2, 2)
        x[x > 1] = t.tensor(5)
        assert x.tolist() == [[0.0, 1.0], [5.0, 5.0]]
        x[:, t.tensor([True, False])] = t.tensor([7.5], dtype=t.float32)
        assert x.tolist() == [[7.5, 1.0], [7.5, 5.0]]
        whole = t.arange(3)
        whole[whole > 0] = t.tensor(2.75)
        assert whole.tolist() == [0, 2, 2]

    def test_its_gradient_has_its_own_dtype(self):
        value = t.tensor(5.0, requires_grad=True)
        x = t.zeros(3, dtype=t.float64)
        x[t.tensor([True, False, True])] = value
        x.sum().backward()
        assert value.grad.item() == 2.0 and value.grad.dtype == t.float32

    def test_several_values_or_indices_keep_the_dtype(self):
        x = t.arange(4, dtype=t.float64)
        phrase = "Index put requires the source and destination dtypes match"
        with pytest.raises(RuntimeError, match=phrase):
            x[x > 1] = t.tensor([5.0, 6.0])
        with pytest.raises(RuntimeError, match=phrase):
            x[t.tensor([0])] = t.tensor(5.0)
        with pytest.raises(RuntimeError, match=phrase):
            x.index_put_((x > 1,), t.tensor(5.0), accumulate=True)

    def test_numbers_must_fit(self):
        x = t.zeros(3, dtype=t.int8)
        phrase = "value cannot be converted to type int8_t without overflow"
        for index in (0, slice(3, 3), t.tensor([0]), t.tensor([True, False, False])):
            with pytest.raises(RuntimeError, match=phrase):
                x[index] = 300
        assert x.tolist() == [0, 0, 0]


def test_arrays_of_any_integers_are_indices():
    numpy = pytest.importorskip("numpy")
    x = t.arange(4)
    for kind in ("int8", "int16", "int32", "int64"):
        assert x[numpy.array([2, -1], dtype=kind)].tolist() == [2, 3]


def test_a_scalar_has_no_dimension_to_index():
    for index in ((0,), [0], (slice(None),), t.tensor([0])):
        with pytest.raises(IndexError, match="too many indices for tensor of dimension 0"):
            t.tensor(1.0)[index]
    with pytest.raises(IndexError, match="index is out of bounds for dimension with size 0"):
        t.ones(0)[[0]]


@pytest.mark.parametrize(
    "index, place, size",
    [
        ((..., 9), 1, 4),
        ((None, 9), 1, 2),
        ((slice(None), None, 9), 2, 3),
        (([0], 0, 9), 2, 4),
        ((slice(None), [0, 9]), 0, 3),
        ((slice(None), [0], [9]), 1, 4),
        (([0], slice(None), [9]), 1, 4),
    ],
)
def test_the_place_of_an_index_out_of_range_is_named(index, place, size):
    x = t.zeros(2, 3, 4)
    message = f"index 9 is out of bounds for dimension {place} with size {size}"
    with pytest.raises(IndexError, match=message):
        x[index]
    with pytest.raises(IndexError, match=message):
        x[index] = 1
    with pytest.raises(IndexError, match=message):
        x.requires_grad_()[index]


@pytest.mark.parametrize("index", [slice(0, None, 2**62), (None, slice(0, 2**63 - 1, 2**62))])
def test_a_step_beyond_the_end_leaves_the_first_element(index):
    x = t.arange(6).view(2, 3)
    assert x[index].flatten().tolist() == [0, 1, 2]
    assert x[:0][index].numel() == 0


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize(
    "fill, expected",
    [
        (lambda x: x.fill_(x[1, 1]), [5, 5, 5, 5, 5, 5, 5, 5, 5]),
        (lambda x: x.masked_fill_(x > 4, x[0, 2]), [1, 2, 3, 4, 3, 3, 3, 3, 3]),
        (lambda x: x.__setitem__(x > 2, x[2, 2]), [1, 2, 9, 9, 9, 9, 9, 9, 9]),
        (lambda x: x.__setitem__(x > 2, x[0, 2]), [1, 2, 3, 3, 3, 3, 3, 3, 3]),
        (lambda x: x.__setitem__(x[:, 0] < 5, x[0, 1]), [2, 2, 2, 2, 2, 2, 7, 8, 9]),
        (lambda x: x.__setitem__(slice(None), x[1, 1]), [5, 5, 5, 5, 5, 5, 5, 5, 5]),
        (lambda x: x.index_fill_(0, t.tensor([1, 2]), x[1, 1]), [1, 2, 3, 5, 5, 5, 5, 5, 5]),
    ],
)
def test_an_element_of_the_tensor_may_fill_it(fill, expected, requires_grad):
    x = t.arange(1.0, 10).reshape(3, 3).requires_grad_(requires_grad).clone()
    fill(x)
    assert x.flatten().tolist() == expected


@pytest.mark.parametrize("index", [t.tensor([0]), (t.tensor([0, 1]), t.tensor([0, 1]))])
def test_places_that_integers_name_are_not_filled_with_an_element(index):
    x = t.ones(2, 2)
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        x[index] = x[1, 1]


def test_the_gradient_of_a_fill_with_an_element_goes_to_the_element():
    x = t.arange(1.0, 5, requires_grad=True)
    y = x.clone()
    y[y > 2] = y[1]
    y.backward(t.tensor([1.0, 10.0, 100.0, 1000.0]))
    assert x.grad.tolist() == [1.0, 1110.0, 0.0, 0.0]


ROW, TABLE = t.tensor([0, 1, 1]), t.tensor([[0, 1], [1, 0], [0, 0]])
LAYOUTS = {
    "permuted": t.arange(120.0).reshape(5, 4, 3, 2).permute(3, 2, 1, 0),
    "channels last": t.arange(120.0).reshape(2, 3, 4, 5).contiguous(memory_format=t.channels_last),
    "contiguous": t.arange(120.0).reshape(2, 3, 4, 5),
}
ALL = slice(None)
# PyTorch's: dimensions that no index covers keep their order in memory, and so do the index's own.
STRIDES = [
    ("permuted", (ROW,), (60, 1, 3, 12)),
    ("permuted", (ALL, ROW), (1, 8, 2, 24)),
    ("permuted", (..., ROW), (3, 6, 18, 1)),
    ("permuted", (ROW, ALL, ROW), (15, 1, 3)),
    ("permuted", (ALL, TABLE.t()), (1, 8, 16, 2, 48)),
    ("permuted", (ALL, ALL, t.tensor([True, False, True, True])), (1, 6, 2, 18)),
    ("channels last", (ROW,), (60, 1, 15, 3)),
    ("channels last", (ALL, ROW), (60, 20, 5, 1)),
    ("channels last", (ALL, ALL, ROW), (45, 1, 3, 9)),
    ("contiguous", (TABLE.t(),), (60, 120, 20, 5, 1)),
    ("contiguous", (TABLE,), (120, 60, 20, 5, 1)),
    ("contiguous", (ROW, ALL, ROW), (15, 5, 1)),
]


@pytest.mark.parametrize(("layout", "index", "strides"), STRIDES)
def test_strides_of_indexed_layouts(layout, index, strides):
    x = LAYOUTS[layout]
    out = x[index]
    assert out.stride() == strides
    assert t.equal(out, x.contiguous()[index])
    if not any(isinstance(i, t.Tensor) and i.dtype == t.bool for i in index):
        assert x.to("meta")[index].stride() == strides
