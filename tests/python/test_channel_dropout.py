"""dropout1d, dropout2d and dropout3d: whole channels, with and without a batch, PyTorch's warnings."""

import pytest
from under_test import t

F = t.nn.functional


def channels_are_whole(x, first):
    """Whether each channel, the dimensions from `first` on, holds one value."""
    return all(len(set(c.flatten().tolist())) == 1 for c in x.flatten(0, first - 1))


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize(
    "name,shape,first",
    [
        ("dropout1d", (40, 6), 1),
        ("dropout1d", (8, 5, 6), 2),
        ("dropout2d", (8, 5, 2, 3), 2),
        ("dropout3d", (40, 2, 3, 2), 1),
        ("dropout3d", (8, 5, 2, 3, 2), 2),
    ],
)
def test_channels_are_dropped_whole(name, shape, first, inplace):
    t.manual_seed(3)
    x = t.ones(shape)
    y = getattr(F, name)(x, 0.5, inplace=inplace)
    assert y.shape == shape
    assert sorted(set(y.flatten().tolist())) == [0, 2]
    assert channels_are_whole(y, first)
    if inplace:
        assert t.equal(x, y)


@pytest.mark.parametrize("dims", [0, 1, 4, 5])
def test_one_spatial_dimension_is_asked_for(dims):
    with pytest.raises(RuntimeError, match=f"Expected 2D or 3D input, but received a {dims}D"):
        F.dropout1d(t.ones((2,) * dims))


@pytest.mark.parametrize("name,dims", [("dropout2d", 2), ("dropout2d", 5), ("dropout3d", 3)])
def test_other_dimensions_warn(name, dims):
    with pytest.warns(UserWarning, match=f"Received a {dims}-D input to {name}"):
        getattr(F, name)(t.ones((2,) * dims))


def test_three_dimensions_of_dropout2d_are_a_batch():
    t.manual_seed(3)
    with pytest.warns(UserWarning, match="channel-wise 1D dropout"):
        y = F.dropout2d(t.ones(8, 5, 6))
    assert channels_are_whole(y, 2)


def test_probabilities():
    for f in (F.dropout, F.dropout1d, F.dropout2d, F.dropout3d, F.alpha_dropout):
        with pytest.raises(ValueError, match="has to be between 0 and 1, but got"):
            f(t.ones(2, 3, 4), 1.5)
