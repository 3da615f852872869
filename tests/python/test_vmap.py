"""vmap: dimensions, nesting, in-place writes, views, chunks and what it refuses."""

import pytest

import taeda
from taeda import _C
from taeda.func import grad, vmap


@pytest.fixture(autouse=True)
def seed():
    taeda.manual_seed(0)


def test_maps_over_the_first_dimension():
    x = taeda.arange(6.0).view(3, 2)
    assert vmap(lambda row: row.sum())(x).tolist() == [1.0, 5.0, 9.0]


def test_in_dims_follow_the_structure_of_the_arguments():
    x, y, z = taeda.ones(3, 2), taeda.arange(6.0).view(2, 3), 5.0

    def f(pair, scale):
        return (pair["a"] * pair["b"]).sum() * scale

    got = vmap(f, in_dims=({"a": 0, "b": 1}, None))({"a": x, "b": y}, z)
    assert got.tolist() == [15.0, 25.0, 35.0]


def test_negative_in_dims():
    x = taeda.arange(6.0).view(2, 3)
    assert vmap(lambda c: c.sum(), in_dims=-1)(x).tolist() == [3.0, 5.0, 7.0]


def test_out_dims_place_the_batch():
    x = taeda.ones(5, 2, 3)
    assert vmap(lambda t: t, out_dims=1)(x).shape == (2, 5, 3)
    assert vmap(lambda t: (t, t.sum(0)), out_dims=(-1, 0))(x)[0].shape == (2, 3, 5)
    first, second = vmap(lambda t: (t, t.sum(0)), out_dims=(2, 1))(x)
    assert first.shape == (2, 3, 5) and second.shape == (3, 5)


def test_results_without_a_batch_are_expanded():
    got = vmap(lambda t: taeda.ones(2))(taeda.zeros(3, 1))
    assert got.shape == (3, 2) and got.stride(0) == 0


def test_out_dim_none_returns_what_is_the_same_for_all():
    value, count = vmap(lambda t: (t * 2, 7), out_dims=(0, None))(taeda.ones(3))
    assert value.tolist() == [2.0, 2.0, 2.0] and count == 7


def test_nested():
    a, b = taeda.arange(3.0), taeda.arange(2.0)
    outer = vmap(vmap(lambda x, y: x * 10 + y, in_dims=(None, 0)), in_dims=(0, None))
    assert outer(a, b).tolist() == [[0.0, 1.0], [10.0, 11.0], [20.0, 21.0]]


def test_keyword_arguments_are_not_mapped():
    got = vmap(lambda x, scale: x * scale)(taeda.ones(2), scale=taeda.tensor([1.0, 2.0, 3.0]))
    assert got.shape == (2, 3)


def test_numbers_of_an_example_promote_as_numbers():
    scale = taeda.ones(3, dtype=taeda.float64)
    got = vmap(lambda s: taeda.ones(2, dtype=taeda.float32) * s)(scale)
    assert got.dtype == taeda.float32
    got = vmap(lambda s: s + taeda.tensor(1.0, dtype=taeda.float64))(taeda.ones(3))
    assert got.dtype == taeda.float64


# ---- in place and views ----


def test_in_place_on_what_the_function_made():
    def f(x):
        out = taeda.zeros_like(x)
        out[0] = x.sum()
        out[1:].add_(x[1:])
        return out

    x = taeda.arange(6.0).view(2, 3)
    assert vmap(f)(x).tolist() == [[3.0, 1.0, 2.0], [12.0, 4.0, 5.0]]


def test_in_place_on_an_argument_writes_its_memory():
    x = taeda.ones(3, 2)
    vmap(lambda t: t.mul_(2))(x)
    assert x.tolist() == [[2.0, 2.0]] * 3


def test_in_place_through_a_view_of_an_argument():
    x = taeda.zeros(2, 3, 4)
    vmap(lambda t: t.transpose(0, 1)[1].fill_(1.0), in_dims=1)(x)
    assert x.sum().item() == 6 and x[:, :, 1].sum().item() == 6


def test_in_place_that_changes_the_shape():
    x = taeda.ones(3, 2)
    assert vmap(lambda t: t.clone().unsqueeze_(0))(x).shape == (3, 1, 2)
    assert vmap(lambda t: t.clone().t_())(taeda.ones(3, 2, 5)).shape == (3, 5, 2)


def test_in_place_on_a_tensor_of_all_examples_fails():
    y = taeda.zeros(2)
    with pytest.raises(RuntimeError, match=r"vmap: add_.*is not possible because there exists"):
        vmap(lambda x: y.add_(x))(taeda.ones(3, 2))


def test_squeeze_leaves_a_batch_of_one_alone():
    assert vmap(lambda x: x.squeeze())(taeda.ones(1, 1, 2)).shape == (1, 2)


# ---- indexing ----


@pytest.mark.parametrize(
    "f",
    [
        lambda x, i: x[i],
        lambda x, i: x[:, i],
        lambda x, i: x[i, i],
        lambda x, i: x[i, :, i],
        lambda x, i: x[None, i],
        lambda x, i: x[0, i],
        lambda x, i: x.index_select(1, i),
        lambda x, i: x.take(i),
    ],
)
@pytest.mark.parametrize("which", ["x", "i", "both"])
def test_indexing_equals_a_loop(f, which):
    x = taeda.arange(3 * 4 * 4 * 4.0).view(3, 4, 4, 4)
    i = taeda.tensor([[0, 2], [1, 3], [2, 0]])
    x_dim, i_dim = (None if which == "i" else 0), (None if which == "x" else 0)
    xs = x[0] if x_dim is None else x
    indices = i[0] if i_dim is None else i
    expected = taeda.stack(
        [
            f(xs if x_dim is None else xs[b], indices if i_dim is None else indices[b])
            for b in range(3)
        ]
    )
    assert taeda.equal(vmap(f, in_dims=(x_dim, i_dim))(xs, indices), expected)


def test_assignment_with_indices():
    def f(x, i, v):
        out = x.clone()
        out[i] = v
        return out

    x, i = taeda.zeros(3, 4), taeda.tensor([0, 2, 3])
    v = taeda.tensor([1.0, 2.0, 3.0])
    expected = taeda.stack([f(x[b], i[b], v[b]) for b in range(3)])
    assert taeda.equal(vmap(f)(x, i, v), expected)


# ---- chunks ----


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 10])
def test_chunks_give_the_same_result(chunk_size):
    x = taeda.randn(7, 3)
    expected = vmap(lambda t: (t.sin(), t.sum()), out_dims=(1, 0))(x)
    got = vmap(lambda t: (t.sin(), t.sum()), out_dims=(1, 0), chunk_size=chunk_size)(x)
    assert all(taeda.equal(a, b) for a, b in zip(got, expected))


# ---- rules of single operators ----


@pytest.mark.parametrize("reduce", [taeda.any, taeda.all])
def test_an_empty_list_of_dimensions_reduces_nothing(reduce):
    x = taeda.tensor([[0.0, 1.0], [1.0, 1.0]])
    assert vmap(lambda row: reduce(row, dim=[]))(x).tolist() == x.bool().tolist()
    assert vmap(lambda v: reduce(v, dim=[]))(x[0]).tolist() == [False, True]


@pytest.mark.parametrize("reduce", [taeda.any, taeda.all])
def test_no_list_of_dimensions_reduces_all(reduce):
    x = taeda.tensor([[0.0, 0.0], [1.0, 1.0]])
    assert vmap(lambda row: reduce(row, dim=None))(x).tolist() == [False, True]
    assert vmap(lambda v: reduce(v, dim=None))(x[:, 0]).tolist() == [False, True]


@pytest.mark.parametrize(
    ("shapes", "in_dims", "dim"),
    [
        (((5, 0), (5, 2, 3)), (0, 0), 1),
        (((5, 2, 3), (5, 0)), (0, 0), -1),
        (((2, 3), (0, 5), (2, 1)), (None, 1, None), 1),
        (((5, 0), (2, 3)), (0, None), 0),
        (((5, 0), (5, 0)), (0, 0), 0),
    ],
)
def test_cat_skips_empty_vectors_of_a_batch(shapes, in_dims, dim):
    tensors = [taeda.randn(shape) for shape in shapes]

    def example(i):
        return [x if d is None else x.select(d, i) for x, d in zip(tensors, in_dims)]

    got = vmap(lambda *x: taeda.cat(x, dim), in_dims=in_dims)(*tensors)
    assert taeda.equal(got, taeda.stack([taeda.cat(example(i), dim) for i in range(5)]))


def test_cat_promotes_with_an_empty_vector_of_a_batch():
    got = vmap(lambda x, y: taeda.cat([x, y]))(
        taeda.ones(3, 0, dtype=taeda.float64), taeda.ones(3, 2)
    )
    assert got.dtype == taeda.float64


def test_cat_records_an_empty_vector_of_a_batch():
    x = taeda.ones(3, 0, requires_grad=True)
    vmap(lambda x: taeda.cat([x, taeda.ones(2)]))(x).sum().backward()
    assert x.grad.shape == (3, 0)


def test_cat_of_a_batch_of_numbers_is_refused():
    with raises(RuntimeError, "zero-dimensional tensor .at position 0. cannot be concatenated"):
        vmap(lambda x: taeda.cat([x, x]))(taeda.ones(3))


@pytest.mark.parametrize("shape", [(3, 4, 5), (3, 5)])
@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_total_weight_of_nll_loss_is_that_of_an_example(shape, reduction):
    x = taeda.randn(shape)
    y = taeda.ones(shape[1:-1], dtype=taeda.int64)

    def forward(x):
        return taeda.ops.aten.nll_loss_forward(x, y, None, reduction, -100)

    output, total = vmap(forward)(x)
    assert taeda.allclose(output, taeda.stack([forward(v)[0] for v in x]))
    assert total.tolist() == [forward(v)[1].item() for v in x]
    if reduction == 0:
        assert total.tolist() == [1.0 if x.dim() == 2 else 0.0] * 3


def test_the_total_weight_of_nll_loss_may_be_a_vector_of_one():
    x, y = taeda.randn(3, 4, 5), taeda.ones(4, dtype=taeda.int64)
    total = taeda.tensor([[4.0], [2.0], [1.0]])

    def backward(x, total):
        return taeda.ops.aten.nll_loss_backward(taeda.ones(()), x, y, None, 1, -100, total)

    expected = taeda.stack([backward(v, w) for v, w in zip(x, total)])
    assert taeda.allclose(vmap(backward)(x, total), expected)


@pytest.mark.parametrize("shape", [(5, 2, 3), (5, 3), (5, 1), (5,)])
@pytest.mark.parametrize("mask", [True, [False, True, True], [[True, False, True], [False] * 3]])
def test_one_mask_selects_from_every_example(shape, mask):
    x, mask = taeda.randn(shape), taeda.tensor(mask)
    expected = taeda.stack([taeda.masked_select(v, mask) for v in x])
    assert taeda.equal(vmap(lambda v: taeda.masked_select(v, mask))(x), expected)


def test_masks_of_examples_select_shapes_of_their_own():
    with raises(RuntimeError, "Attempted to vmap over `mask` in torch.masked_select"):
        vmap(taeda.masked_select)(taeda.ones(3, 2), taeda.ones(3, 2, dtype=taeda.bool))


def test_fill_by_a_value_of_each_example():
    got = vmap(lambda v: taeda.fill(taeda.zeros(2), v))(taeda.tensor([1.0, 2.0]))
    assert got.tolist() == [[1, 1], [2, 2]]


def test_a_number_has_no_bytes_to_view_as_another_size():
    view = taeda.ops.aten.view.dtype
    assert vmap(lambda v: view(v, taeda.int32))(taeda.ones(3)).shape == (3,)
    with raises(RuntimeError, "dim.. cannot be 0 to view Float as Byte"):
        vmap(lambda v: view(v, taeda.uint8))(taeda.ones(3))


# ---- with autograd ----


def test_backward_through_vmap():
    w = taeda.randn(4, 3, requires_grad=True)
    x = taeda.randn(5, 3)
    vmap(lambda v: taeda.mv(w, v).tanh())(x).sum().backward()
    expected = taeda.autograd.grad((x @ w.t()).tanh().sum(), w)[0]
    assert taeda.allclose(w.grad, expected, atol=1e-6)


@pytest.mark.parametrize("loss", ["mse", "cross_entropy", "layer_norm", "linear"])
def test_backward_through_composed_operators(loss):
    import taeda.nn.functional as F

    x = taeda.randn(4, 5, 3, requires_grad=True)
    t = taeda.randint(0, 3, (4, 5))
    w = taeda.randn(3, 3, requires_grad=True)
    f = {
        "mse": lambda a, b: F.mse_loss(a, a.detach() * 0.5),
        "cross_entropy": lambda a, b: F.cross_entropy(a, b),
        "layer_norm": lambda a, b: F.layer_norm(a, (3,), w[0], w[1]).sin().sum(),
        "linear": lambda a, b: F.linear(a, w, w[0]).sin().sum(),
    }[loss]
    got = taeda.autograd.grad(vmap(f)(x, t).sum(), [x, w], allow_unused=True)
    one_by_one = sum(f(a, b) for a, b in zip(x, t))
    expected = taeda.autograd.grad(one_by_one, [x, w], allow_unused=True)
    for a, b in zip(got, expected):
        assert (a is None) == (b is None)
        assert a is None or taeda.allclose(a, b, atol=1e-5)


def test_per_sample_gradients():
    import taeda.nn.functional as F

    w, x, y = taeda.randn(2, 3), taeda.randn(5, 3), taeda.randn(5, 2)

    def loss(weight, a, b):
        return F.mse_loss(F.linear(a, weight), b)

    got = vmap(grad(loss), in_dims=(None, 0, 0))(w, x, y)
    expected = taeda.stack([grad(loss)(w, a, b) for a, b in zip(x, y)])
    assert taeda.allclose(got, expected, atol=1e-6)


def test_losses_of_a_single_class():
    import taeda.nn.functional as F

    x, target = taeda.randn(3), taeda.zeros(3, dtype=taeda.int64)
    for reduction in ("none", "mean"):
        got = vmap(lambda a, b, r=reduction: F.multilabel_margin_loss(a, b, reduction=r))(x, target)
        assert taeda.equal(got, taeda.zeros(3))


# ---- operators without a rule ----


def test_operators_without_a_rule_run_once_an_example_and_say_so():
    _C._set_vmap_fallback_warning_enabled(True)
    before = _C._vmap_fallback_count()

    x = taeda.randn(3, 4)
    with pytest.warns(UserWarning, match="performance drop"):
        got = vmap(lambda row: taeda.ops.aten._reshape_alias(row, [2, 2], [2, 1]))(x)
    assert taeda.equal(got, x.view(3, 2, 2))
    assert _C._vmap_fallback_count() == before + 1


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_tensors_keep_their_storage_under_vmap():
    x = taeda.randn(3, 4)
    with pytest.raises(RuntimeError, match="aten::set_; the fallback path doesn't work on"):
        vmap(lambda row: taeda.ops.aten.set_.default(row))(x)
    with pytest.raises(RuntimeError, match="give a tensor another storage or other sizes"):
        vmap(lambda row: taeda.ops.aten.set_.source_Tensor(row, taeda.ones(4)))(x)


# ---- refusals ----


def raises(error, match):
    return pytest.raises(error, match=match)


def test_sizes_must_agree():
    with raises(ValueError, "Expected all tensors to have the same size in the mapped dimension"):
        vmap(lambda x, y: x + y)(taeda.ones(2), taeda.ones(3))


def test_something_must_be_mapped():
    with raises(ValueError, "Expected at least one Tensor to vmap over"):
        vmap(lambda x: x, in_dims=(None,))(taeda.ones(2))
    with raises(ValueError, "got no inputs"):
        vmap(lambda: taeda.ones(2))()


def test_in_dims_are_checked():
    with raises(ValueError, "in_dims is not compatible with the structure of `inputs`"):
        vmap(lambda x: x, in_dims=(0, 0))(taeda.ones(2))
    with raises(ValueError, "expected `in_dims` to be int or a"):
        vmap(lambda x: x, in_dims="a")(taeda.ones(2))
    with raises(ValueError, "in_dim must be either an integer dimension or None"):
        vmap(lambda x: x, in_dims=(0.5,))(taeda.ones(2))
    with raises(ValueError, "expected in_dim to satisfy -1 <= in_dim < 1"):
        vmap(lambda x: x, in_dims=1)(taeda.ones(2))
    with raises(ValueError, "We cannot vmap over non-Tensor arguments"):
        vmap(lambda x, y: x, in_dims=0)(taeda.ones(2), 3)


def test_outputs_are_checked():
    with raises(ValueError, "must only return Tensors, got type"):
        vmap(lambda x: 1)(taeda.ones(2))
    with raises(ValueError, "can not return a BatchedTensor when out_dim is None"):
        vmap(lambda x: x, out_dims=None)(taeda.ones(2))
    with raises(ValueError, "out_dims is not compatible with the structure of `outputs`"):
        vmap(lambda x: (x, x), out_dims=(0, 0, 0))(taeda.ones(2))
    with raises(ValueError, "`out_dims` must be an int, None or a python collection of ints"):
        vmap(lambda x: x, out_dims="a")


def test_other_arguments_are_checked():
    with raises(RuntimeError, "Only allowed values for randomness are"):
        vmap(lambda x: x, randomness="some")
    with raises(ValueError, "chunk_size should be None or greater than 0"):
        vmap(lambda x: x, chunk_size=0)


def test_values_are_not_to_be_had():
    for read in (
        lambda x: x.item(),
        lambda x: float(x),
        lambda x: x.tolist(),
        lambda x: taeda.ones(2) if x > 0 else taeda.zeros(2),
    ):
        with raises(RuntimeError, "vmap: It looks like you're"):
            vmap(read)(taeda.ones(3))


@pytest.mark.parametrize("f", [taeda.nonzero, lambda x: x[x > 0]])
def test_sizes_that_depend_on_values_are_refused(f):
    with raises(RuntimeError, "We do not support batching operators that can output dynamic shape"):
        vmap(f)(taeda.ones(3, 2))


def test_the_refused_operator_is_the_one_that_was_called():
    with raises(RuntimeError, "Attempted to vmap over aten::where"):
        vmap(taeda.where)(taeda.ones(3, 2))


@pytest.mark.parametrize("in_dims", [[0, 0], {0}, "lol"])
def test_in_dims_are_numbers_or_tuples(in_dims):
    with raises(ValueError, "expected `in_dims` to be int or a .potentially nested. tuple"):
        vmap(taeda.mul, in_dims)(taeda.ones(3), taeda.ones(3))


def test_numpy_is_refused():
    with raises(RuntimeError, "Cannot access data pointer of Tensor that doesn't have storage"):
        vmap(lambda x: taeda.from_numpy(x.numpy()))(taeda.ones(3))


def test_a_tensor_that_escapes_is_noticed():
    kept = []
    vmap(lambda x: kept.append(x) or x)(taeda.ones(3))
    with raises(RuntimeError, "your tensor may have escaped from inside a function being vmapped"):
        kept[0] + 1


def test_levels_end_after_an_error():
    def f(x):
        raise KeyError("mine")

    with pytest.raises(KeyError):
        vmap(f)(taeda.ones(3))
    assert _C._num_levels() == 0
    assert (taeda.ones(2) + 1).tolist() == [2.0, 2.0]


def test_out_variants_are_refused():
    with raises(RuntimeError, "out variants in vmap is not supported"):
        vmap(lambda x: taeda.sin(x, out=taeda.empty(2)))(taeda.ones(3, 2))


# ---- corners of the generic rules ----


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.flip(()),
        lambda x: x.flip((0, -1)),
        lambda x: x.view(2, 1, 3).squeeze(()),
        lambda x: x.view(2, 1, 3).squeeze((1,)),
        lambda x: x.take(taeda.tensor([-1, 0, 5])),
        lambda x: x.sum(()),
        lambda x: x.amax(()),
        lambda x: x.argmax(),
        lambda x: x.argmax(1, keepdim=True),
        lambda x: x.any(),
        lambda x: (x > 2).all(1),
        lambda x: x.count_nonzero(0),
        lambda x: x.tensor_split(taeda.tensor([1]), 1)[1],
    ],
)
def test_examples_with_dimensions(f):
    xs = taeda.arange(18.0).view(3, 2, 3)
    expected = taeda.stack([f(x) for x in xs])
    got = vmap(f)(xs)
    assert got.dtype == expected.dtype and taeda.equal(got, expected)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.sum(0),
        lambda x: x.sum(0, keepdim=True),
        lambda x: x.cumsum(-1),
        lambda x: x.softmax(0),
        lambda x: x.sort(0)[0],
        lambda x: x.unfold(0, 1, 1),
        lambda x: x.gather(0, taeda.tensor([0])),
        lambda x: x.gather(0, taeda.tensor(0)),
        lambda x: x.scatter(0, taeda.tensor([0]), 7.0),
        lambda x: x.index_select(0, taeda.tensor([0])),
        lambda x: x.argmax(0),
        lambda x: x.flip(0),
        lambda x: x.unsqueeze(0),
        lambda x: x.prod(),
    ],
)
def test_examples_that_are_numbers(f):
    xs = taeda.tensor([1.5, -2.0, 3.0])
    expected = taeda.stack([f(x) for x in xs])
    got = vmap(f)(xs)
    assert got.shape == expected.shape and taeda.equal(got, expected)


def test_assignment_without_an_index_writes_everything():
    values = taeda.tensor([1.0, 2.0])
    got = vmap(lambda x: x.index_put([], values))(taeda.zeros(3, 2))
    assert got.tolist() == [[1.0, 2.0]] * 3


def test_formats_with_channels_are_refused():
    with raises(RuntimeError, "inside vmap is only supported with memory_format"):
        vmap(lambda x: x.clone(memory_format=taeda.channels_last))(taeda.ones(2, 1, 3, 4, 4))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: taeda.linspace(x, x + 1, 3),
        lambda x: taeda.linspace(x, 4.0, 5),
        lambda x: taeda.linspace(-1.0, x, 5, dtype=taeda.float64),
        lambda x: taeda.logspace(x, x + 1, 3, 2.0),
        lambda x: taeda.logspace(0.0, x, 3),
        lambda x: taeda.logspace(x, 2.0, 3),
    ],
)
def test_ranges_between_batched_numbers(f):
    xs = taeda.tensor([0.0, 2.0, -1.5])
    before = _C._vmap_fallback_count()
    got, expected = vmap(f)(xs), taeda.stack([f(x) for x in xs])
    assert got.dtype == expected.dtype and taeda.allclose(got, expected)
    assert _C._vmap_fallback_count() == before


@pytest.mark.parametrize("dtype", [taeda.int64, taeda.bfloat16, taeda.complex64])
def test_ranges_between_batched_numbers_of_other_types(dtype):
    ends = taeda.tensor([[0, 7], [-3, 4], [9, 1]])

    def f(ends):
        return taeda.linspace(ends[0], ends[1], 5, dtype=dtype)

    assert vmap(f)(ends).tolist() == [f(e).tolist() for e in ends]


def test_a_variance_below_zero_is_refused_in_any_example():
    x = taeda.ones(3)

    def loss(variance):
        return taeda.nn.functional.gaussian_nll_loss(x, x, variance)

    assert vmap(loss)(taeda.ones(2, 3)).shape == (2,)
    with raises(ValueError, "var has negative entry/entries"):
        vmap(loss)(taeda.tensor([[1.0, 1.0, 1.0], [1.0, -1.0, 1.0]]))


def test_ranges_need_numbers():
    with raises(RuntimeError, "linspace only supports 0-dimensional start and end tensors"):
        vmap(lambda x: taeda.linspace(x, 1.0, 3))(taeda.ones(2, 3))
    with raises(RuntimeError, "number of steps must be non-negative"):
        vmap(lambda x: taeda.linspace(x, 1.0, -1))(taeda.ones(2))


def test_allclose_is_refused():
    with raises(RuntimeError, "vmap over torch.allclose isn't supported yet"):
        vmap(taeda.allclose)(taeda.ones(2, 3), taeda.ones(2, 3))
