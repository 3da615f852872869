"""Tensor.apply_, map_, map2_: Python functions of elements."""

import pytest
from under_test import t


def test_functions_of_elements():
    x = t.arange(6).view(2, 3)
    assert x.clone().apply_(lambda v: v * 2).equal(x * 2)
    assert x.t().clone().t().apply_(lambda v: v + 1).equal(x + 1)
    assert t.ones(2, dtype=t.int32).apply_(lambda v: 1.5).tolist() == [1, 1]
    assert t.ones(2, dtype=t.bool).apply_(lambda v: not v).tolist() == [False, False]
    assert t.tensor(1.5).apply_(lambda v: v * 2).item() == 3
    assert t.ones(0).apply_(lambda v: 1 / 0).numel() == 0


def test_functions_of_two_and_three():
    x, y, z = t.ones(2, 3), t.arange(3.0), t.tensor([[1.0], [2.0]])
    assert x.clone().map_(y, lambda a, b: a - b).equal(x - y)
    assert x.clone().map2_(y, z, lambda a, b, c: a + b * c).equal(x + y * z)


def test_refusals():
    x = t.ones(2, 3)
    with pytest.raises(TypeError, match="not callable"):
        x.apply_(3)
    with pytest.raises(TypeError):
        x.apply_(lambda v: "a")
    with pytest.raises(RuntimeError, match=r"Can't call apply_\(\) on Variable that requires grad"):
        t.ones(1, requires_grad=True).apply_(lambda v: v)
    with pytest.raises(RuntimeError, match="requires grad"):
        x.map_(t.ones(3, requires_grad=True), lambda a, b: a)
    with pytest.raises(
        TypeError, match=r"expected torch.FloatTensor for 'other' \(got torch.IntTensor\)"
    ):
        x.map_(t.ones(3, dtype=t.int32), lambda a, b: a)
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        x.map_(3, lambda a, b: a)
    with pytest.raises(RuntimeError, match="must match the existing size"):
        x.map_(t.ones(2), lambda a, b: a)
