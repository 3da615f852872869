"""Functions of nn whose operators do not exist say which is missing."""

import pickle

import pytest

import taeda
from taeda.nn import functional as F

PLANE = taeda.ones(1, 2, 4, 4)
ROW = taeda.ones(2, 4)

CALLS = {
    "rrelu": lambda: F.rrelu(ROW),
    "rrelu_": lambda: F.rrelu(ROW, inplace=True),
    "max_pool2d": lambda: F.max_pool2d(PLANE, 2),
    "max_pool2d_with_indices": lambda: F.max_pool2d(PLANE, 2, return_indices=True),
    "adaptive_avg_pool2d": lambda: F.adaptive_avg_pool2d(PLANE, 1),
    "group_norm": lambda: F.group_norm(PLANE, 2),
}


def is_there(name):
    return any(hasattr(m, name) for m in (taeda._C, taeda._C._nn))


@pytest.mark.parametrize("name", CALLS)
def test_the_operator_is_named(name):
    if is_there(name):
        pytest.skip("the operator exists")
    with pytest.raises(NotImplementedError, match=f"the operator aten::{name} is not") as caught:
        CALLS[name]()
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.skipif(is_there("conv3d"), reason="the operator exists")
def test_names_can_be_asked_for():
    assert not hasattr(F, "conv3d")
    assert getattr(F, "conv3d", None) is None


def test_other_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'") as caught:
        F.nonsense  # noqa: B018
    assert not isinstance(caught.value, NotImplementedError)


def test_what_exists_is_found():
    assert F.relu(ROW).sum() == 8
    assert F.gelu is taeda._C._nn.gelu
