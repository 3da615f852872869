"""Functions whose Python form is more than an operator's: unique, norms by name, histograms."""

import pytest
from under_test import t


def test_unique_gives_what_is_asked_for():
    x = t.tensor([3, 1, 3, 2])
    assert t.unique(x).tolist() == [1, 2, 3]
    output, inverse, counts = t.unique(x, return_inverse=True, return_counts=True)
    assert (output[inverse] == x).all()
    assert counts.tolist() == [1, 1, 2]
    assert len(t.unique(x, return_counts=True)) == 2


def test_unique_slices_are_sorted_as_rows():
    x = t.tensor([[2, 1], [0, 3], [2, 1]])
    output, inverse = x.unique(dim=0, return_inverse=True)
    assert output.tolist() == [[0, 3], [2, 1]]
    assert inverse.tolist() == [1, 0, 1]


def test_unique_consecutive_keeps_what_returns():
    output, counts = t.tensor([1, 1, 2, 1]).unique_consecutive(return_counts=True)
    assert output.tolist() == [1, 2, 1]
    assert counts.tolist() == [2, 1, 1]


def test_norm_by_name_and_order():
    x = t.tensor([[3.0, -4.0], [0.0, 12.0]])
    assert t.norm(x).item() == 13
    assert x.norm(1, dim=0).tolist() == [3, 16]
    assert t.norm(x, float("inf"), dim=1).tolist() == [4, 12]
    out = t.empty(0)
    assert t.norm(x, 1, dim=1, out=out) is out
    assert out.tolist() == [7, 12]


def test_norm_refuses_orders_that_need_singular_values():
    with pytest.raises(NotImplementedError, match="singular values"):
        t.norm(t.ones(2, 2), "nuc")


def test_histogramdd_counts_rows_in_cells():
    points = t.tensor([[0.1, 0.1], [0.9, 0.1], [0.9, 0.9], [0.9, 0.8]])
    result = t.histogramdd(points, bins=2, range=[0.0, 1.0, 0.0, 1.0])
    assert result.hist.tolist() == [[1, 0], [1, 2]]
    assert [e.tolist() for e in result.bin_edges] == [[0, 0.5, 1], [0, 0.5, 1]]


def test_matrices_as_separate_arguments():
    a, b = t.ones(2, 3), t.ones(3, 1)
    assert t.chain_matmul(a, b).tolist() == [[3], [3]]
    assert t.block_diag(a, b).shape == (5, 4)


def test_methods_of_families_that_cpp_calls_as_functions():
    x = t.tensor([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]])
    assert x.median().item() == 3
    assert x.median(1).values.tolist() == [2, 4]
    assert x.diff().tolist() == [[4, -3], [-1, 3]]
    assert x.clone().copysign_(-1).sum().item() == -21


def test_differences_of_a_tensor_without_data_take_no_time():
    for order in (1, 2, 5, 2**53 + 1):
        shape = t.empty(1, 2**62, dtype=t.bool, device="meta").diff(order).shape
        assert shape == (1, 2**62 - order)
    assert t.empty(5, device="meta").diff(7).shape == (0,)


def test_places_in_a_flat_tensor_as_coordinates():
    places = t.unravel_index(t.tensor([0, 7, 23], dtype=t.int32), (2, 3, 4))
    assert [p.tolist() for p in places] == [[0, 0, 1], [0, 1, 2], [0, 3, 3]]
    assert places[0].dtype == t.int64
    assert [p.tolist() for p in t.unravel_index(t.tensor(4), 6)] == [4]


@pytest.mark.parametrize(
    "indices, shape, error, phrase",
    [
        ([1.0], (2,), TypeError, "expected 'indices' to be integer dtype"),
        ([True], (2,), TypeError, "expected 'indices' to be integer dtype"),
        ([1], 2.0, TypeError, "expected 'shape' to be int or sequence of ints"),
        ([1], (2.0,), TypeError, "expected 'shape' sequence to only contain ints"),
        ([1], (2, -3), ValueError, "'shape' cannot have negative values"),
    ],
)
def test_coordinates_of_integers_in_shapes_of_integers(indices, shape, error, phrase):
    with pytest.raises(error, match=phrase):
        t.unravel_index(t.tensor(indices), shape)
