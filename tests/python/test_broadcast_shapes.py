"""Tests of broadcast_shapes: the common shape of shapes, and what it refuses."""

import pytest
from under_test import t


def test_shapes_broadcast_without_tensors():
    assert t.broadcast_shapes((3, 1), 2, [1, 2]) == (3, 2)
    assert t.broadcast_shapes() == () and isinstance(t.broadcast_shapes(1), t.Size)
    assert t.broadcast_shapes((0,), (1,)) == (0,)


@pytest.mark.parametrize(
    ("shapes", "error", "phrase"),
    [
        (((2, 3), (4, 3)), RuntimeError, r"length 4 at -2! Mismatching argument at index 1 had \("),
        (((2, 3), (4, 3)), RuntimeError, r"expected shape should be broadcastable to \[2, 3\]"),
        (((1, -1),), ValueError, "dimension with negative length"),
        ((1.5,), RuntimeError, "should be of type ints, a tuple of ints, or a list of ints"),
    ],
)
def test_shapes_that_do_not_broadcast(shapes, error, phrase):
    with pytest.raises(error, match=phrase):
        t.broadcast_shapes(*shapes)
