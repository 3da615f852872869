"""Tests operators that pick and place elements by index: values against NumPy, gradients, errors."""

import pytest
from central_differences import differences
from under_test import t

np = pytest.importorskip("numpy")

RNG = np.random.default_rng(7)


def values(*shape, dtype="float64"):
    return RNG.standard_normal(shape).astype(dtype)


def positions(high, *shape):
    return RNG.integers(0, high, shape)


def same(got, want):
    np.testing.assert_array_equal(got.detach().numpy(), want)


def layouts(array):
    """The array as a tensor with contiguous, transposed and gapped memory."""
    x = t.tensor(array)
    yield x
    if x.dim() > 1:
        yield x.transpose(0, 1).contiguous().transpose(0, 1)
    wide = t.zeros(*x.shape[:-1], 2 * x.shape[-1], dtype=x.dtype)
    wide[..., ::2] = x
    yield wide[..., ::2]


# ---- gather and scatter ----
@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_gather_reads_along_a_dimension(dim):
    x, index = values(3, 4, 5), positions(3, 2, 3, 4)
    shrunk = x[tuple(slice(None) if d == dim % 3 else slice(n) for d, n in enumerate(index.shape))]
    want = np.take_along_axis(shrunk, index, dim)
    for xt in layouts(x):
        for it in layouts(index):
            same(t.gather(xt, dim, it), want)
            same(xt.gather(dim, it.int()), want)


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int16", "complex128"])
def test_scatter_add_takes_duplicates_in_order(dim, dtype):
    x, src = values(4, 6).astype(dtype), values(4, 6).astype(dtype)
    index = positions(4, 4, 6)
    want = x.copy()
    for i in range(4):
        for j in range(6):
            at = (index[i, j], j) if dim == 0 else (i, index[i, j])
            want[at] += src[i, j]
    for st in layouts(src):
        same(t.tensor(x).scatter_add(dim, t.tensor(index), st), want)
    y = t.tensor(x)
    assert y.scatter_add_(dim, t.tensor(index), t.tensor(src)) is y
    same(y, want)


def test_scatter_writes_values_and_numbers():
    x, src = values(3, 5), values(2, 5)
    index = np.array([[0, 2, 1, 0, 2], [2, 0, 0, 1, 1]])
    want, filled = x.copy(), x.copy()
    np.put_along_axis(want, index, src, 0)
    np.put_along_axis(filled, index, 1.5, 0)
    same(t.tensor(x).scatter(0, t.tensor(index), t.tensor(src)), want)
    same(t.tensor(x).scatter(0, t.tensor(index), 1.5), filled)
    same(t.scatter(t.tensor(x), 0, t.tensor(index), 1.5), filled)


@pytest.mark.parametrize("reduce, step", [("add", np.add), ("multiply", np.multiply)])
def test_scatter_with_a_reduction(reduce, step):
    x, src, index = values(4), values(6), np.array([0, 1, 1, 3, 0, 1])
    want = x.copy()
    step.at(want, index, src)
    got = t.tensor(x).scatter_(0, t.tensor(index), t.tensor(src), reduce=reduce)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-12)


REDUCTIONS = {"sum": np.sum, "prod": np.prod, "mean": np.mean, "amax": np.max, "amin": np.min}


@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("include_self", [True, False])
def test_scatter_reduce(reduce, include_self):
    x, src, index = values(4, 3), values(5, 3), positions(4, 5, 3)
    want = x.copy()
    for at in np.ndindex(4, 3):
        sent = [src[i, at[1]] for i in range(5) if index[i, at[1]] == at[0]]
        if sent:
            want[at] = REDUCTIONS[reduce](sent + [x[at]] * include_self)
    args = (0, t.tensor(index), t.tensor(src), reduce)
    got = t.tensor(x).scatter_reduce(*args, include_self=include_self)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-12)
    same(t.tensor(x).scatter_reduce_(*args, include_self=include_self), got.numpy())


def test_scalars_count_as_one_dimension():
    x = t.tensor(2.0)
    same(x.gather(0, t.tensor(0)), np.float32(2))
    same(x.gather(0, t.tensor([0, 0])), np.float32([2, 2]))
    same(t.tensor([1.0, 2.0]).scatter(0, t.tensor(1), t.tensor(5.0)), np.float32([1, 5]))
    same(x.index_select(0, t.tensor([0])), np.float32(2))


# ---- slices along one dimension ----
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_slices_are_selected_copied_filled_and_added(dim):
    x, index = values(4, 5, 6), np.array([3, 0, 2])
    source = values(*[3 if d == dim else n for d, n in enumerate(x.shape)])
    at = (slice(None),) * dim + (index,)
    it = t.tensor(index)
    for xt in layouts(x):
        same(xt.index_select(dim, it), np.take(x, index, dim))
        for st in layouts(source):
            want = x.copy()
            want[at] = source
            same(xt.index_copy(dim, it, st), want)
            want = x.copy()
            want[at] += 2 * source
            same(xt.index_add(dim, it, st, alpha=2), want)
        want = x.copy()
        want[at] = -1
        same(xt.index_fill(dim, it, -1), want)
        same(xt.index_fill(dim, it - x.shape[dim], t.tensor(-1.0, dtype=t.float64)), want)


def test_results_do_not_depend_on_threads():
    index = t.tensor(positions(50, 20000))
    source, row = (
        t.tensor(values(20000, 3, dtype="float32")),
        t.tensor(values(20000, dtype="float32")),
    )
    before = t.get_num_threads()
    results = []
    for threads in (1, 2, 3):
        t.set_num_threads(threads)
        results.append(
            (
                t.zeros(50, 3).index_add(0, index, source).numpy(),
                t.zeros(50).index_put((index,), row, accumulate=True).numpy(),
                t.zeros(3, 50).index_add(1, index, source.transpose(0, 1)).numpy(),
                t.zeros(50, 3).index_put((index,), source).numpy(),
            )
        )
    t.set_num_threads(before)
    for other in results[1:]:
        for a, b in zip(results[0], other):
            np.testing.assert_array_equal(a, b)
    # Of duplicates the last one stays.
    last = np.zeros((50, 3), "float32")
    last[index.numpy()] = source.numpy()
    np.testing.assert_array_equal(results[0][3], last)


# ---- advanced indexing ----
def advanced():
    rows, columns = np.array([[0, 2], [-1, 1]]), np.array([1, 0])
    mask = np.arange(20).reshape(4, 5) % 3 == 0
    return [
        (rows,),
        (slice(None), rows),
        (rows, columns),
        (slice(None), rows, columns),
        (rows, slice(None), columns),
        (slice(1, 3), rows, slice(None, None, 2), columns),
        (mask,),
        (slice(None), np.array([True, False, True, True, False])),
        (mask[:, 0], slice(None), np.array([0, 2])),
        (np.array([], dtype="int64"),),
        (np.zeros((4, 5), bool),),
        (None, rows),
    ]


@pytest.mark.parametrize("index", advanced(), ids=range(len(advanced())))
def test_advanced_indices_read_and_write(index):
    x = values(4, 5, 3, 4)
    as_tensors = tuple(t.tensor(i) if isinstance(i, np.ndarray) else i for i in index)
    want = x[index]
    for xt in layouts(x):
        same(xt[as_tensors], want)
    filled, numbers = x.copy(), values(*want.shape)
    filled[index] = 7
    y = t.tensor(x)
    y[as_tensors] = 7
    same(y, filled)
    if not any(i is None for i in index):
        z = t.tensor(x)
        z[as_tensors] = t.tensor(numbers)
        np.testing.assert_array_equal(z[as_tensors].shape, want.shape)


def test_index_put_accumulates_duplicates():
    x, rows, columns = values(4, 5), np.array([1, 1, 3, 1]), np.array([0, 0, 2, 4])
    source, want = values(4), values(4, 5)
    want = x.copy()
    np.add.at(want, (rows, columns), source)
    indices = (t.tensor(rows), t.tensor(columns))
    got = t.tensor(x).index_put(indices, t.tensor(source), accumulate=True)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-12)
    same(
        t.tensor(x).index_put_((t.tensor(rows),), t.tensor(2.0, dtype=t.float64)),
        np.where(np.isin(np.arange(4), rows)[:, None], 2.0, x),
    )


@pytest.mark.parametrize("dtype", [t.int32, t.uint8, t.bool])
def test_index_dtypes(dtype):
    x = t.arange(6).view(2, 3)
    want = x.numpy()[[1, 0]] if dtype == t.int32 else x.numpy()[[True, False]]
    same(x[t.tensor([1, 0], dtype=dtype)], want)


# ---- masks, positions ----
def test_masks():
    x = values(3, 4)
    mask = x > 0
    same(t.tensor(x).masked_select(t.tensor(mask)), x[mask])
    same(t.masked_select(t.tensor(x), t.tensor(mask[0])), x[np.broadcast_to(mask[0], x.shape)])
    same(t.tensor(mask).nonzero(), np.argwhere(mask))
    same(t.argwhere(t.tensor(x * mask)), np.argwhere(mask))
    for got, want in zip(t.nonzero(t.tensor(mask), as_tuple=True), np.nonzero(mask)):
        same(got, want)
    assert t.tensor(1.0).nonzero().shape == (1, 0)
    assert t.nonzero(t.zeros(0, 3)).shape == (0, 2)
    big = np.arange(100000) % 7 == 0
    same(t.tensor(big).nonzero(), np.argwhere(big))


def test_take():
    x = values(3, 4)
    index = np.array([[0, -1], [5, 11]])
    for xt in layouts(x):
        same(t.take(xt, t.tensor(index)), x.reshape(-1)[index])
    order = np.argsort(x, 1)
    same(t.take_along_dim(t.tensor(x), t.tensor(order), 1), np.take_along_axis(x, order, 1))
    same(
        t.take_along_dim(t.tensor(x), t.tensor([[2], [0], [1]]), dim=1),
        x[[0, 1, 2], [2, 0, 1]][:, None],
    )
    same(t.take_along_dim(t.tensor(x), t.tensor([3, 4])), x.reshape(-1)[[3, 4]])


# ---- gradients ----
INDEX = t.tensor([[0, 2], [1, 1]])
ROWS = t.tensor([2, 0, 2])
MASK = t.tensor([True, False, True])
FUNCTIONS = {
    "gather": (lambda x: x.gather(1, INDEX), [(3, 4)]),
    "scatter": (lambda x, s: x.scatter(0, INDEX, s), [(3, 4), (2, 2)]),
    "scatter_larger_source": (lambda x, s: x.scatter(0, INDEX, s), [(3, 4), (3, 4)]),
    "scatter_value": (lambda x: x.scatter(0, INDEX, 2.0), [(3, 4)]),
    "scatter_add": (lambda x, s: x.scatter_add(0, INDEX, s), [(3, 4), (2, 2)]),
    **{
        f"scatter_reduce_{r}": (
            lambda x, s, r=r: x.scatter_reduce(0, INDEX, s, r),
            [(3, 4), (2, 2)],
        )
        for r in REDUCTIONS
    },
    "index_select": (lambda x: x.index_select(0, ROWS), [(3, 4)]),
    "index_add": (lambda x, s: x.index_add(0, ROWS, s, alpha=3), [(3, 4), (3, 4)]),
    "index_copy": (lambda x, s: x.index_copy(1, ROWS[:2], s), [(3, 4), (3, 2)]),
    "index_fill": (lambda x, v: x.index_fill(1, ROWS[:2], v), [(3, 4), ()]),
    "index_fill_duplicates": (lambda x, v: x.index_fill(0, ROWS - 3, v), [(3, 4), ()]),
    "index": (lambda x: x[ROWS, :2], [(3, 4)]),
    "index_separated": (lambda x: x[ROWS, :, INDEX[:, :1]], [(3, 4, 2)]),
    "index_mask": (lambda x: x[MASK], [(3, 4)]),
    "index_put": (lambda x, s: x.index_put((ROWS[:2],), s), [(3, 4), (4,)]),
    "index_put_accumulate": (
        lambda x, s: x.index_put((ROWS,), s, accumulate=True),
        [(3, 4), (3, 1)],
    ),
    "take": (lambda x: x.take(t.tensor([[0, -1], [5, 5]])), [(3, 4)]),
    "take_along_dim": (lambda x: t.take_along_dim(x, t.tensor([[3], [0], [0]]), 1), [(3, 4)]),
    "masked_select": (lambda x: x.masked_select(MASK.view(3, 1)), [(3, 4)]),
}


def total(function, arrays):
    """A number whose derivatives reach every output: the outputs' squares, each weighted."""
    out = function(*arrays)
    weights = t.arange(1, out.numel() + 1, dtype=t.float64).view(out.shape)
    return (out * out * weights).sum()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_match_differences(name):
    function, shapes = FUNCTIONS[name]
    arrays = [values(*shape) if shape else np.array(0.7) for shape in shapes]
    leaves = [t.tensor(a).requires_grad_() for a in arrays]
    grads = t.autograd.grad(total(function, leaves), leaves, create_graph=True)
    for got, want in zip(grads, differences(lambda *a: total(function, a), arrays)):
        np.testing.assert_allclose(got.detach().numpy(), want, rtol=1e-6, atol=1e-7)

    def slope(*inputs):
        inputs = [i.detach().requires_grad_() for i in inputs]
        firsts = t.autograd.grad(total(function, inputs), inputs)
        return sum((g * g).sum() for g in firsts)

    seconds = t.autograd.grad(sum((g * g).sum() for g in grads), leaves)
    for got, want in zip(seconds, differences(slope, arrays)):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-5)


def test_gradients_of_in_place_writes():
    x, s = t.ones(3, 2, requires_grad=True), t.ones(2, requires_grad=True)
    y = x * 2
    y[t.tensor([0, 2])] = s
    y.sum().backward()
    same(x.grad, np.float32([[0, 0], [2, 2], [0, 0]]))
    same(s.grad, np.float32([2, 2]))


# ---- embedding ----
@pytest.mark.parametrize("padding", [None, 1])
@pytest.mark.parametrize("by_frequency", [False, True])
def test_embedding(padding, by_frequency):
    table = values(5, 3)
    index = np.array([[0, 1, 1], [4, 0, 1]])
    leaf = t.tensor(table).requires_grad_()
    out = t.nn.functional.embedding(t.tensor(index), leaf, padding, scale_grad_by_freq=by_frequency)
    same(out, table[index])
    upstream = values(2, 3, 3)
    (out * t.tensor(upstream)).sum().backward()
    want = np.zeros((5, 3))
    np.add.at(want, index, upstream)
    counts = np.maximum(np.bincount(index.reshape(-1), minlength=5), 1)
    if by_frequency:
        want /= counts[:, None]
    if padding is not None:
        want[padding] = 0
    np.testing.assert_allclose(leaf.grad.numpy(), want, rtol=1e-12)


def test_embedding_renormalizes_rows_in_use():
    table = t.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]])
    out = t.nn.functional.embedding(t.tensor([0, 1]), table, max_norm=1.0)
    np.testing.assert_allclose(out.numpy(), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-5)
    same(table[2], np.float32([6, 8]))


def test_one_hot():
    index = np.array([[0, 2], [1, 0]])
    same(t.nn.functional.one_hot(t.tensor(index)), np.eye(3, dtype="int64")[index])
    same(t.nn.functional.one_hot(t.tensor(index), 4), np.eye(4, dtype="int64")[index])


# ---- meta tensors ----
def test_shapes_on_meta():
    x, i = t.empty(3, 4, device="meta"), t.zeros(2, 2, dtype=t.int64, device="meta")
    assert x.gather(1, i).shape == (2, 2) and x.scatter(0, i, 1.0).shape == (3, 4)
    assert x[i].shape == (2, 2, 4) and x[:, i].shape == (3, 2, 2)
    assert x.index_select(1, i[0]).shape == (3, 2) and x.take(i).shape == (2, 2)
    for data_dependent in (lambda: x.nonzero(), lambda: x[x > 0], lambda: x.masked_select(x > 0)):
        with pytest.raises(NotImplementedError):
            data_dependent()


# ---- errors ----
X = t.arange(6.0).view(2, 3)
L = t.tensor
ERRORS = [
    (
        lambda: X.gather(1, L([[5]])),
        RuntimeError,
        "index 5 is out of bounds for dimension 1 with size 3",
    ),
    (
        lambda: X.gather(1, L([[-1]])),
        RuntimeError,
        "index -1 is out of bounds for dimension 1 with size 3",
    ),
    (
        lambda: X.gather(1, L([1])),
        RuntimeError,
        "Index tensor must have the same number of dimensions as input tensor",
    ),
    (
        lambda: X.gather(1, L([[1]], dtype=t.uint8)),
        RuntimeError,
        r"gather\(\): Expected dtype int32/int64 for index",
    ),
    (
        lambda: X.gather(1, L([[1]] * 3)),
        RuntimeError,
        "Size does not match at dimension 0 expected index",
    ),
    (
        lambda: X.scatter(1, L([[3]]), X),
        RuntimeError,
        "index 3 is out of bounds for dimension 1 with size 3",
    ),
    (
        lambda: X.scatter(1, L([[1]]), X.double()),
        RuntimeError,
        r"scatter\(\): Expected self.dtype to be equal to src.dtype",
    ),
    (
        lambda: X.scatter_add(1, L([1]), X),
        RuntimeError,
        "Index tensor must have the same number of dimensions as self tensor",
    ),
    (lambda: X[L([2])], IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
    (lambda: X[L([-3])], IndexError, "index -3 is out of bounds for dimension 0 with size 2"),
    (
        lambda: X[L([True, False, True])],
        IndexError,
        r"The shape of the mask \[3\] at index 0 does not match the shape of the indexed tensor \[2, 3\] at index 0",
    ),
    (
        lambda: X[L([0, 1]), L([0, 1, 2])],
        IndexError,
        r"shape mismatch: indexing tensors could not be broadcast together with shapes \[2\], \[3\]",
    ),
    (
        lambda: X.index_put((L([0]),), L([1.0, 2.0])),
        RuntimeError,
        r"shape mismatch: value tensor of shape \[2\] cannot be broadcast to indexing result of shape \[1, 3\]",
    ),
    (
        lambda: X.index_put((L([0]),), L([1, 2, 3])),
        RuntimeError,
        "Index put requires the source and destination dtypes match",
    ),
    (lambda: X.index_select(0, L([5])), IndexError, "index out of range in self"),
    (
        lambda: X.index_select(0, L([[0]])),
        IndexError,
        r"index_select\(\): Index is supposed to be a vector",
    ),
    (
        lambda: X.index_add(0, L([0]), X),
        RuntimeError,
        r"index_add_\(\): Number of indices \(1\) should be equal to source.size\(dim\): \(2\), for dim: 0",
    ),
    (
        lambda: X.index_add(0, L([2]), X[:1]),
        RuntimeError,
        "index 2 is out of bounds for dimension 0 with size 2",
    ),
    (
        lambda: X.index_copy(0, L([2]), X[:1]),
        IndexError,
        r"index_copy_\(\): index 2 is out of bounds for dimension 0 with size 2",
    ),
    (
        lambda: X.index_fill(0, L([2]), 1.0),
        IndexError,
        "index 2 is out of bounds for dimension 0 with size 2",
    ),
    (
        lambda: X.take(L([7])),
        IndexError,
        "out of range: tried to access index 7 on a tensor of 6 elements.",
    ),
    (
        lambda: X.masked_select(L([1, 0, 1])),
        RuntimeError,
        "masked_select: expected BoolTensor for mask",
    ),
    (lambda: t.nn.functional.embedding(L([5]), X), IndexError, "index out of range in self"),
    (
        lambda: t.nn.functional.embedding(L([0.0]), X),
        RuntimeError,
        "Expected tensor for argument #1 'indices'",
    ),
    (
        lambda: t.nn.functional.one_hot(L([3]), 2),
        RuntimeError,
        "Class values must be smaller than num_classes.",
    ),
]


@pytest.mark.parametrize("call, kind, phrase", ERRORS, ids=range(len(ERRORS)))
def test_errors(call, kind, phrase):
    before = X.clone()
    with pytest.raises(kind, match=phrase):
        call()
    same(X, before.numpy())


def test_failed_writes_leave_the_tensor_alone():
    x = t.zeros(3)
    for call in (
        lambda: x.scatter_(0, L([0, 1, 9]), 1.0),
        lambda: x.index_add_(0, L([0, 9]), t.ones(2)),
        lambda: x.index_put_((L([0, 9]),), t.ones(2)),
        lambda: x.index_fill_(0, L([0, 9]), 1.0),
    ):
        with pytest.raises((RuntimeError, IndexError)):
            call()
        same(x, np.zeros(3, "float32"))


@pytest.mark.parametrize("dtype", [t.int32, t.bool, t.float32])
def test_take_along_dim_takes_long_indices(dtype):
    with pytest.raises(RuntimeError, match="dtype of indices should be Long"):
        t.take_along_dim(t.ones(3, 3), t.zeros(3, 3, dtype=dtype), 0)


ADDITIONS = {
    "scatter_add": lambda x, i, v: x.scatter_add(0, i[:, None].expand(-1, 4), v),
    "scatter_reduce": lambda x, i, v: x.scatter_reduce(0, i[:, None].expand(-1, 4), v, "sum"),
    "scatter": lambda x, i, v: x.scatter(0, i[:, None].expand(-1, 4), v, reduce="add"),
    "index_add": lambda x, i, v: x.index_add(0, i, v),
}


@pytest.mark.parametrize("dtype", [t.bfloat16, t.float16])
@pytest.mark.parametrize("name", sorted(ADDITIONS))
def test_sums_of_16_bit_numbers_are_rounded_once(name, dtype):
    # Rounded at each addition they would stop to grow at 256 and 2048.
    places, ones = t.arange(9000) % 3, t.ones(9000, 4, dtype=dtype)
    sums = ADDITIONS[name](t.zeros(3, 4, dtype=dtype), places, ones)
    assert sums.dtype == dtype and sums.unique().tolist() == [
        3000.0 if dtype == t.float16 else 3008.0
    ]


def test_gradients_of_16_bit_rows_are_rounded_once():
    table = t.ones(3, 2, dtype=t.bfloat16, requires_grad=True)
    places = t.arange(3000) % 3
    table.index_select(0, places).sum().backward()
    assert table.grad.unique().tolist() == [1000.0]
    table.grad = None
    table.gather(0, places[:, None].expand(-1, 2)).sum().backward()
    assert table.grad.unique().tolist() == [1000.0]


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize(
    ("mask", "sizes"),
    [
        (t.tensor([[True, False, True], [False, False, True]]), (3, 4)),
        (t.tensor([[True, False, True], [False, False, True]]), (3, 1)),
        (t.tensor([[True, False, True], [False, False, True]]), (1, 4)),
        (t.tensor([[True, False, True], [False, False, True]]), (4,)),
        ((slice(None), t.tensor([False, True, True])), (2, 1)),
        ((slice(None), t.tensor([False, True, True])), (2, 2, 4)),
    ],
)
def test_gradients_of_values_behind_a_mask(mask, sizes, backend):
    def f(x, values):
        y = x * 2
        y[mask] = values
        return y.sin()

    x, values = t.randn(2, 3, 4, requires_grad=True), t.randn(sizes, requires_grad=True)
    want = t.autograd.grad(f(x, values), (x, values), t.ones(2, 3, 4))
    compiled = t.compile(f, backend=backend)
    got = t.autograd.grad(compiled(x, values), (x, values), t.ones(2, 3, 4))
    assert all(t.equal(a, b) for a, b in zip(got, want))
