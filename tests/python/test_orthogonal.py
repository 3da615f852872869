"""nn.init.orthogonal_ and the orthogonal parametrization, with PyTorch's numbers."""

import pytest
from under_test import t

nn = t.nn
parametrizations = t.nn.utils.parametrizations

DRAWN = {
    (3, 2): [-0.15107, 1.57059, 0.9744, -1.01725, 1.74004, 0.70601],
    (2, 3): [-0.23689, 1.26861, 1.52791, -0.97842, 1.26447, -1.20158],
    (2, 2, 2): [-0.17615, 0.94337, 1.13618, -1.33721, 1.86806, -0.17058, 0.66475, 0.19839],
}
SQUARE = [[0.5, -1.0, 0.25], [2.0, 0.125, -0.75], [-0.375, 1.5, 1.0]]
# (the matrix before the map, the map) to what it gives and the gradient of weighted squares.
MAPPED = {
    ("tall", "matrix_exp"): (
        [-0.17764, -0.29559, 0.61555, -0.77757, 0.76781, 0.55499],
        [0.0, 0.0, -0.38771, 0.0, -0.75532, 1.736],
    ),
    ("tall", "cayley"): (
        [0.20301, -0.66165, 0.8782, -0.20301, 0.43308, 0.7218],
        [0.0, 0.0, -0.35118, 0.0, -1.20106, 1.46982],
    ),
    ("tall", "householder"): (
        [0.23862, -0.51415, 0.95448, 0.28051, -0.17896, 0.81054],
        [0.0, 0.0, 0.45435, 0.0, -4.33666, 5.87246],
    ),
    ("wide", "matrix_exp"): (
        [0.5369, -0.66862, 0.51448, 0.83206, 0.31898, -0.45379],
        [0.0, -0.0272, 0.0921, 0.0, 0.0, -1.0249],
    ),
    ("wide", "cayley"): (
        [0.62222, -0.64444, 0.44444, 0.77778, 0.44444, -0.44444],
        [0.0, 0.08112, 0.11799, 0.0, 0.0, -0.79644],
    ),
    ("wide", "householder"): (
        [0.43644, -0.87287, 0.21822, 0.84629, 0.31591, -0.42894],
        [0.0, -0.18409, -0.96947, 0.0, 0.0, -2.32257],
    ),
}
TRIVIALIZED = {
    "matrix_exp": [
        0.27369,
        0.78647,
        0.55368,
        -0.07474,
        -0.55653,
        0.82746,
        0.95891,
        -0.26785,
        -0.09353,
    ],
    "cayley": [-0.04629, 0.54114, 0.83966, 0.3962, -0.76167, 0.51272, 0.917, 0.3564, -0.17914],
}


def linear_of(weight):
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=False)
    with t.no_grad():
        layer.weight.copy_(weight)
    return layer


def assert_numbers(tensor, expected):
    assert t.allclose(tensor.detach().flatten(), t.tensor(expected), atol=2e-5)


@pytest.mark.parametrize("shape", DRAWN)
def test_drawn_matrices_are_those_of_pytorch(shape):
    generator = t.Generator(engine="mt19937").manual_seed(7)
    drawn = nn.init.orthogonal_(t.empty(shape), gain=2, generator=generator)
    assert_numbers(drawn, DRAWN[shape])


def test_orthogonal_of_other_tensors():
    weight = nn.Parameter(t.empty(2, 3, 4, dtype=t.float64))
    assert nn.init.orthogonal_(weight) is weight and weight.is_leaf
    rows = weight.detach().reshape(2, 12)
    assert t.allclose(rows @ rows.T, t.eye(2, dtype=t.float64))
    assert nn.init.orthogonal_(t.empty(0, 3)).shape == (0, 3)
    assert nn.init.orthogonal_(t.empty(4, 3, device="meta")).is_meta


@pytest.mark.parametrize("shape, name", MAPPED)
def test_maps_give_the_numbers_of_pytorch(shape, name):
    weight = t.tensor(SQUARE)[:, :2] if shape == "tall" else t.tensor(SQUARE)[:2]
    layer = linear_of(weight)
    parametrizations.orthogonal(layer, orthogonal_map=name, use_trivialization=False)
    original = layer.parametrizations.weight.original
    values, grads = MAPPED[shape, name]
    out = layer.weight
    assert_numbers(out, values)
    out.square().mul(t.arange(out.numel()).view_as(out)).sum().backward()
    assert_numbers(original.grad, grads)


@pytest.mark.parametrize("name", TRIVIALIZED)
def test_trivialization_starts_at_the_given_matrix(name):
    layer = linear_of(t.tensor(SQUARE))
    parametrizations.orthogonal(layer, orthogonal_map=name)
    start = layer.weight.detach()
    assert t.allclose(start @ start.T, t.eye(3), atol=1e-6)
    with t.no_grad():
        layer.parametrizations.weight.original.add_(t.tensor(SQUARE))
    assert_numbers(layer.weight, TRIVIALIZED[name])


@pytest.mark.parametrize("name", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 3)])
def test_assigned_matrices_come_back(name, shape):
    layer = nn.Module()
    layer.weight = nn.Parameter(t.randn(shape))
    parametrizations.orthogonal(layer, orthogonal_map=name)
    wide = shape[-2] < shape[-1]
    q = t.linalg.qr(t.randn(shape).mT if wide else t.randn(shape))[0]
    q = q.mT if wide else q
    layer.weight = q
    assert t.allclose(layer.weight, q, atol=1e-5)


def test_maps_without_inverse_and_wrong_shapes_refuse():
    layer = parametrizations.orthogonal(
        nn.Linear(3, 3), orthogonal_map="cayley", use_trivialization=False
    )
    with pytest.raises(NotImplementedError, match="It is not possible to assign to the matrix exp"):
        layer.weight = t.eye(3)
    layer = parametrizations.orthogonal(nn.Linear(3, 3))
    with pytest.raises(ValueError, match="Expected a matrix or batch of matrices of shape"):
        layer.weight = t.eye(4)
    with pytest.raises(
        ValueError, match="The householder parametrization does not support complex"
    ):
        parametrizations.orthogonal(
            nn.Linear(3, 3, dtype=t.complex64), orthogonal_map="householder"
        )


def test_state_travels():
    first = parametrizations.orthogonal(nn.Linear(3, 3))
    state = first.state_dict()
    names = ["bias", "parametrizations.weight.0.base", "parametrizations.weight.original"]
    assert sorted(state) == names
    second = parametrizations.orthogonal(nn.Linear(3, 3))
    second.load_state_dict(state)
    assert t.equal(first.weight, second.weight)


def test_training_keeps_the_matrix_orthogonal():
    layer = parametrizations.orthogonal(nn.Linear(4, 4, bias=False))
    optimizer = t.optim.SGD(layer.parameters(), lr=0.1)
    x, y = t.randn(8, 4), t.randn(8, 4)
    first = None
    for _ in range(20):
        optimizer.zero_grad()
        loss = (layer(x) - y).square().mean()
        first = loss.item() if first is None else first
        loss.backward()
        optimizer.step()
    assert loss.item() < first
    assert t.allclose(layer.weight @ layer.weight.T, t.eye(4), atol=1e-5)
