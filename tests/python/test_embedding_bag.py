"""embedding_bag: bags of rows against sums, means and maxima of their rows."""

import itertools

import pytest

import taeda
from taeda.nn import functional as F

TABLE = [[1.0, -2.0], [3.0, 0.5], [-1.0, 4.0], [2.0, 2.0]]
REDUCE = {
    "sum": lambda rows: rows.sum(0),
    "mean": lambda rows: rows.mean(0),
    "max": lambda rows: rows.amax(0),
}


def table(**options):
    return taeda.tensor(TABLE, dtype=taeda.float64, **options)


def plain_bags(weight, indices, ends, mode, padding=None):
    out = []
    for first, last in zip([0, *ends], ends):
        rows = [weight[k] for k in indices[first:last] if k != padding]
        zero = taeda.zeros(weight.shape[1], dtype=weight.dtype)
        out.append(REDUCE[mode](taeda.stack(rows)) if rows else zero)
    return taeda.stack(out)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 1])
@pytest.mark.parametrize("type_", [taeda.int64, taeda.int32])
def test_bags_reduce_their_rows(mode, padding, type_):
    weight = table()
    indices = [1, 3, 1, 0, 2]
    out = F.embedding_bag(
        taeda.tensor(indices, dtype=type_),
        weight,
        taeda.tensor([0, 2, 2], dtype=type_),
        mode=mode,
        padding_idx=padding,
    )
    taeda.testing.assert_close(out, plain_bags(weight, indices, [2, 2, 5], mode, padding))


def test_rows_of_a_matrix_are_bags():
    indices = taeda.tensor([[0, 1], [2, 2]])
    out = F.embedding_bag(indices, table(), mode="sum")
    taeda.testing.assert_close(out, table()[indices].sum(1))


def test_the_last_offset_may_be_given():
    indices, offsets = taeda.tensor([0, 1, 2]), taeda.tensor([0, 1, 3])
    given = F.embedding_bag(indices, table(), offsets, include_last_offset=True)
    taeda.testing.assert_close(given, F.embedding_bag(indices, table(), offsets[:-1]))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 1])
def test_gradients_of_tables_are_those_of_their_rows(mode, padding):
    indices = [1, 3, 1, 0, 2]
    grads = []
    for bags in (
        lambda w: F.embedding_bag(
            taeda.tensor(indices), w, taeda.tensor([0, 2, 2]), mode=mode, padding_idx=padding
        ),
        lambda w: plain_bags(w, indices, [2, 2, 5], mode, padding),
    ):
        weight = table(requires_grad=True)
        out = bags(weight)
        grads += taeda.autograd.grad((out * out).sum(), weight)
    taeda.testing.assert_close(*grads)


def test_weights_of_indices_have_gradients_and_second_ones():
    weight = table(requires_grad=True)
    samples = taeda.randn(4, dtype=taeda.float64, requires_grad=True)
    indices, offsets = taeda.tensor([1, 3, 1, 0]), taeda.tensor([0, 2])

    def bags(w, s):
        return F.embedding_bag(indices, w, offsets, mode="sum", per_sample_weights=s, padding_idx=3)

    assert taeda.autograd.gradcheck(bags, (weight, samples), check_forward_ad=True)
    assert taeda.autograd.gradgradcheck(bags, (weight, samples))


def test_gradients_are_divided_by_frequencies():
    weight = table(requires_grad=True)
    indices, offsets = taeda.tensor([1, 1, 2]), taeda.tensor([0])
    out = F.embedding_bag(indices, weight, offsets, mode="sum", scale_grad_by_freq=True)
    (gradient,) = taeda.autograd.grad(out.sum(), weight)
    assert gradient[:, 0].tolist() == [0, 1, 1, 0]


def test_rows_in_use_are_scaled_to_the_norm():
    weight = table()
    F.embedding_bag(taeda.tensor([1, 2]), weight, taeda.tensor([0]), max_norm=1.0)
    norms = taeda.linalg.vector_norm(weight, dim=1)
    assert norms.tolist() == pytest.approx([5**0.5, 1, 1, 8**0.5], abs=1e-5)


INDICES = [[1, 3, 1, 0, 2], [0, 1, 1, 2, 3], [3, 3, 0, 1, 0]]
OFFSETS = [[0, 2, 2], [0, 1, 4], [0, 0, 5]]


@pytest.mark.parametrize("batched", ["weight", "indices", "offsets", "all"])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 1])
@pytest.mark.parametrize("with_last", [False, True])
def test_bags_of_a_batch_equal_a_loop(batched, mode, padding, with_last):
    tables = taeda.stack([table() * k for k in (1.0, -0.5, 2.0)])
    places, starts = taeda.tensor(INDICES), taeda.tensor(OFFSETS)
    if with_last:
        starts = taeda.cat([starts, taeda.full((3, 1), 5)], 1)
    options = {"mode": mode, "padding_idx": padding, "include_last_offset": with_last}

    def loss(weight, indices, offsets):
        out = F.embedding_bag(indices, weight, offsets, **options)
        return (out * taeda.arange(6.0, dtype=out.dtype).view(3, 2).cos()).sum()

    chosen = [batched in (name, "all") for name in ("weight", "indices", "offsets")]
    arguments = [x if is_chosen else x[0] for x, is_chosen in zip((tables, places, starts), chosen)]
    dims = tuple(0 if is_chosen else None for is_chosen in chosen)
    before = taeda._C._vmap_fallback_count()
    gradients, losses = taeda.vmap(taeda.func.grad_and_value(loss), dims)(*arguments)
    assert taeda._C._vmap_fallback_count() == before
    for b in range(3):
        example = [x[b] if is_chosen else x for x, is_chosen in zip(arguments, chosen)]
        gradient, value = taeda.func.grad_and_value(loss)(*example)
        taeda.testing.assert_close(losses[b], value)
        taeda.testing.assert_close(gradients[b], gradient)


@pytest.mark.parametrize("has_tables", [False, True])
@pytest.mark.parametrize("padding", [None, 1])
def test_weights_of_samples_of_a_batch_equal_a_loop(has_tables, padding):
    tables = taeda.stack([table() * k for k in (1.0, -0.5, 2.0)])
    shares = taeda.arange(15.0, dtype=taeda.float64).view(3, 5).sin()

    def loss(share, weight, indices):
        offsets = taeda.tensor([0, 2, 2])
        out = F.embedding_bag(
            indices, weight, offsets, mode="sum", per_sample_weights=share, padding_idx=padding
        )
        return (out * taeda.arange(6.0, dtype=out.dtype).view(3, 2).cos()).sum()

    weight, places = tables if has_tables else tables[0], taeda.tensor(INDICES)
    run = taeda.func.grad(loss, (0, 1))
    found = taeda.vmap(run, (0, 0 if has_tables else None, 0))(shares, weight, places)
    for b in range(3):
        expected = run(shares[b], weight[b] if has_tables else weight, places[b])
        for got, wanted in zip(found, expected):
            taeda.testing.assert_close(got[b], wanted)


def test_tables_of_a_batch_are_scaled():
    weight = taeda.stack([table(), table() * 2])
    expected = weight.clone()
    for b, place in enumerate((1, 2)):
        taeda.embedding_renorm_(expected[b], taeda.tensor([place, place]), 1.0, 2.0)
    places = taeda.tensor([[1, 1], [2, 2]])
    for dim in (0, -1):
        tables = weight.movedim(0, dim).contiguous()
        taeda.vmap(lambda w, i: taeda.embedding_renorm_(w, i, 1.0, 2.0), (dim, 0))(tables, places)
        taeda.testing.assert_close(tables.movedim(dim, 0), expected)


def test_sparse_gradients_name_what_they_wait_for():
    weight = table(requires_grad=True)
    out = F.embedding_bag(taeda.tensor([1]), weight, taeda.tensor([0]), mode="sum", sparse=True)
    with pytest.raises(NotImplementedError, match="sparse tensors"):
        out.sum().backward()


@pytest.mark.parametrize(
    ("indices", "offsets", "options", "kind", "phrase"),
    [
        ([4], [0], {}, RuntimeError, "Expected idx >= 0 && idx < num_embeddings"),
        ([1, 2], [1], {}, RuntimeError, r"offsets\[0\] has to be 0"),
        ([1, 2], [0, 3], {}, RuntimeError, r"offsets\[-1\] can not be greater"),
        ([1, 2], [0], {"padding_idx": 4}, RuntimeError, "padding_idx must be within"),
        ([[1, 2]], [0], {}, ValueError, "if input is 2D, then offsets has to be None"),
        ([1, 2], [0], {"mode": "most"}, ValueError, "mode has to be one of sum, mean or max"),
    ],
)
def test_bags_that_cannot_be_are_refused(indices, offsets, options, kind, phrase):
    with pytest.raises(kind, match=phrase):
        F.embedding_bag(taeda.tensor(indices), table(), taeda.tensor(offsets), **options)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bags_are_pytorchs(torch, mode, dtype):
    results = []
    for lib in (taeda, torch):
        weight = lib.tensor(TABLE, dtype=getattr(lib, dtype), requires_grad=True)
        bags = lib.nn.functional.embedding_bag(
            lib.tensor([1, 3, 1, 0, 2]), weight, lib.tensor([0, 2, 2]), mode=mode, padding_idx=0
        )
        (gradient,) = lib.autograd.grad((bags * bags).sum(), weight)
        results.append((bags.tolist(), gradient.tolist()))
    for got, expected in zip(*results):
        taeda.testing.assert_close(taeda.tensor(got), taeda.tensor(expected))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 1])
def test_indices_behind_the_last_offset_are_in_no_bag(mode, padding):
    indices = [1, 3, 0, 2, 1]
    weight, plain = table(requires_grad=True), table(requires_grad=True)
    out = F.embedding_bag(
        taeda.tensor(indices),
        weight,
        taeda.tensor([0, 1, 3]),
        mode=mode,
        include_last_offset=True,
        padding_idx=padding,
    )
    expected = plain_bags(plain, indices, [1, 3], mode, padding)
    taeda.testing.assert_close(out, expected)
    out.square().sum().backward()
    expected.square().sum().backward()
    taeda.testing.assert_close(weight.grad, plain.grad)


@pytest.mark.parametrize("has_padding", [False, True])
def test_weights_of_samples_behind_the_last_offset(has_padding):
    indices, offsets = taeda.tensor([1, 3, 0, 2]), taeda.tensor([0, 1, 3])
    padding = 3 if has_padding else None

    def bags(weight, samples):
        return F.embedding_bag(
            indices,
            weight,
            offsets,
            mode="sum",
            per_sample_weights=samples,
            include_last_offset=True,
            padding_idx=padding,
        )

    samples = taeda.tensor([2.0, 3.0, 5.0, 7.0], dtype=taeda.float64, requires_grad=True)
    weight = table(requires_grad=True)
    counted = [0.0 if has_padding else 3.0, 5.0]
    row = counted[0] * weight[3] + counted[1] * weight[0]
    taeda.testing.assert_close(bags(weight, samples), taeda.stack([2 * weight[1], row]))
    options = {"check_forward_ad": True}
    assert taeda.autograd.gradcheck(bags, (weight, samples), **options)
    assert taeda.autograd.gradgradcheck(bags, (weight, samples))
    _, grad = taeda.autograd.grad(bags(weight, samples).sum(), (weight, samples))
    assert grad[3] == 0  # it is in no bag


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_batches_with_indices_behind_the_last_offset(mode):
    indices = taeda.tensor([[1, 3, 0, 2], [2, 2, 1, 0]])
    offsets = taeda.tensor([[0, 1, 3], [0, 2, 4]])

    def bags(weight, indices, offsets):
        return F.embedding_bag(indices, weight, offsets, mode=mode, include_last_offset=True)

    def gradient(weight, indices, offsets):
        return taeda.func.grad(lambda w: bags(w, indices, offsets).square().sum())(weight)

    for function in (bags, gradient):
        for weights, dim in ((table(), None), (taeda.stack([table(), -table()]), 0)):
            out = taeda.vmap(function, in_dims=(dim, 0, 0))(weights, indices, offsets)
            rows = weights if dim == 0 else [weights, weights]
            expected = [function(*row) for row in zip(rows, indices, offsets)]
            taeda.testing.assert_close(out, taeda.stack(expected))


def test_the_last_offset_against_pytorch(torch):
    """PyTorch honours it for sums of float32 rows without padding; elsewhere it takes them all.

    What it writes as the gradients of the index behind the last offset is not always set.
    """
    indices, offsets = [1, 3, 0, 2], [0, 1, 3]
    results = []
    for framework in (taeda, torch):
        weight = framework.tensor(TABLE, requires_grad=True)
        samples = framework.tensor([2.0, 3.0, 5.0, 7.0], requires_grad=True)
        out = framework.nn.functional.embedding_bag(
            framework.tensor(indices),
            weight,
            framework.tensor(offsets),
            mode="sum",
            per_sample_weights=samples,
            include_last_offset=True,
        )
        out.square().sum().backward()
        results.append([x.tolist() for x in (out, weight.grad[[0, 1, 3]], samples.grad[:3])])
    assert results[0] == results[1]


@pytest.mark.parametrize("dtype", [taeda.float32, taeda.float64, taeda.bfloat16])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_rows_of_every_width(mode, dtype):
    """Widths with whole vectors, several of them, parts of one, and rows with gaps between."""
    indices, offsets = [1, 5, 2, 2, 0, 6, 3, 3, 1], [0, 1, 1, 6]
    for width in (1, 7, 16, 33, 150):
        for is_dense in (True, False):
            rows = taeda.arange(7.0 * width).mul(0.7).sin().to(dtype).reshape(7, width)
            leaf = (rows if is_dense else rows.t().contiguous().t()).requires_grad_()
            out = F.embedding_bag(
                taeda.tensor(indices), leaf, taeda.tensor(offsets), mode=mode, padding_idx=2
            )
            out.backward(taeda.ones_like(out).cumsum(0))
            table_rows = rows.detach().double().tolist()
            expected, gradient = [], [[0.0] * width for _ in table_rows]
            for bag, (start, end) in enumerate(itertools.pairwise([*offsets, len(indices)])):
                members = [index for index in indices[start:end] if index != 2]
                expected.append(bag_by_hand(table_rows, members, mode, bag + 1, gradient, width))
            tolerance = {"rtol": 1e-2, "atol": 1e-2} if dtype is taeda.bfloat16 else {}
            for found, right in ((out, expected), (leaf.grad, gradient)):
                right = taeda.tensor(right, dtype=taeda.float64).to(dtype)
                taeda.testing.assert_close(found.detach(), right, **tolerance)


def bag_by_hand(rows, members, mode, grad, gradient, width):
    """One bag's result; its gradients are added to `gradient`."""
    result = []
    for k in range(width):
        column = [rows[index][k] for index in members]
        if mode == "max" and members:
            result.append(max(column))
            gradient[members[column.index(max(column))]][k] += grad
            continue
        share = 1 / len(members) if mode == "mean" and members else 1
        result.append(sum(column) * share)
        for index in members:
            gradient[index][k] += grad * share
    return result
