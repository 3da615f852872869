"""Arguments that would reach memory or time without bound are refused, in words of Taeda's own.

PyTorch computes something from these calls or fails a check of its own; what both refuse alike is in
must_fail.txt.
"""

import pytest

import taeda as t

LEAST = -(2**63)


def bag_gradient(indices, offset2bag, maxima=((0, 0),), mode=0, samples=None):
    """The gradient of a table of three rows for one bag of two indices."""
    indices, offset2bag, maxima = map(t.tensor, (indices, offset2bag, maxima))
    sizes = t.tensor([2])
    return t.ops.aten._embedding_bag_dense_backward(
        t.ones(1, 2), indices, offset2bag, sizes, maxima, 3, False, mode, samples
    )


@pytest.mark.parametrize(
    "call, phrase",
    [
        (lambda: t.adaptive_avg_pool1d(t.ones(2, 2, 7), LEAST), "as a SymInt"),
        (lambda: t.ops.aten.adaptive_max_pool2d(t.ones(1, 2, 5, 4), [LEAST, 1]), "as a SymInt"),
        (lambda: t.ops.aten._fused_rms_norm(t.ones(2, 3), [LEAST], None, None), "as a SymInt"),
        (lambda: t.ops.aten.lp_pool2d(t.ones(1, 1, 4, 4), 2.0, []), "kernel_size must"),
        (
            lambda: t.ops.aten.fractional_max_pool2d(
                t.ones(1, 1, 4, 4), [-2, 2], [2, 2], t.ones(1, 1, 2)
            ),
            "kernel_size must not be negative",
        ),
        (
            lambda: t.ops.aten.fractional_max_pool2d_backward(
                t.ones(3), t.ones(1, 4, 4), [2, 2], [2, 2, 2], t.ones(3, dtype=t.int64)
            ),
            "output_size must either be",
        ),
        (
            lambda: t.ops.aten.multilabel_margin_loss_backward(
                t.ones(3), t.ones(2, 4), t.zeros(2, 4, dtype=t.int64), 1, t.ones(2, 4)
            ),
            "got a gradient of [3] for scores of [2, 4]",
        ),
        (
            lambda: t.nn.functional.ctc_loss(
                t.ones(4, 2, 3), t.ones(2, dtype=t.int64), (4, 4), (2**63 - 1, 2**63 - 1)
            ),
            "target_lengths are too long",
        ),
        (
            lambda: t.ops.aten._ctc_loss_backward(
                *(t.ones(2), t.ones(2, 2, 3), t.tensor([[1], [2]]), [2, 2], [1, 1]),
                *(t.tensor(1.0), t.ones(2, 2, 3), 0),
            ),
            "got losses of []",
        ),
        (
            lambda: t.ops.aten._cdist_backward(
                t.ones(1, 4), t.ones(2, 3), t.ones(4, 3), 2.0, t.ones(1, 4)
            ),
            "_cdist_backward: got gradients of [1, 4]",
        ),
        (
            lambda: t.ops.aten._pdist_backward(t.ones(2), t.ones(3, 2), 2.0, t.ones(3)),
            "_pdist_backward: got gradients of [2]",
        ),
        (lambda: bag_gradient([0, 3], [0, 0]), "expected indices between 0 and 3, got 3"),
        (lambda: bag_gradient([0, 1], [0, 1]), "expected offset2bag between -1 and 1, got 1"),
        (lambda: bag_gradient([0, 1], [0]), "got offset2bag of [1]"),
        (lambda: bag_gradient([0, 1], [0, 0], [[0, 3]], 2), "expected maximum_indices between"),
        (lambda: bag_gradient([0, 1], [0, 0], [[0]], 2), "[1, 1] maxima"),
        (lambda: bag_gradient([0, 1], [0, 0], samples=t.ones(1)), "per_sample_weights of [1]"),
        (lambda: t.triu_indices(2**62, 2**62), "too many places"),
        (lambda: t.nn.functional.fold(t.ones(1, 4, 9), 2**40, 2), "integer overflow"),
    ],
)
def test_refused(call, phrase):
    with pytest.raises(RuntimeError) as raised:
        call()
    assert phrase in str(raised.value)


def test_orders_beyond_the_elements_take_no_time():
    assert t.diff(t.empty(2**33, device="meta"), 2**62).shape == (0,)
    assert t.diff(t.arange(3.0), 3).shape == (0,)
    assert t.diff(t.tensor([1.0, 4.0, 9.0]), 2).tolist() == [2.0]


@pytest.mark.parametrize("offset", [-(2**63), -3, -2, -1, 0, 1, 2, 3, 2**63 - 1])
@pytest.mark.parametrize("row, col", [(0, 3), (3, 0), (1, 1), (2, 4), (4, 2), (3, 3)])
def test_triangles(row, col, offset):
    places = [(r, c) for r in range(row) for c in range(col)]
    lower = [p for p in places if p[1] <= p[0] + offset]
    upper = [p for p in places if p[1] >= p[0] + offset]
    assert list(zip(*t.tril_indices(row, col, offset).tolist())) == lower
    assert list(zip(*t.triu_indices(row, col, offset).tolist())) == upper


def test_rows_without_places_take_no_time():
    assert t.triu_indices(2**53 + 1, 0).shape == (2, 0)
    assert t.triu_indices(2**53 + 1, 2).tolist() == [[0, 0, 1], [0, 1, 1]]
