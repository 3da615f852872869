"""nn.functional.batch_norm against the formula and the values of PyTorch."""

import pytest
import taeda.nn.functional as F

import taeda as t

X = t.tensor([[[1.0, 2.0], [3.0, -1.0]], [[4.0, 0.0], [2.0, 2.0]], [[0.5, 1.5], [1.0, 0.0]]])


def test_training_uses_the_batch_and_moves_the_statistics():
    mean, var = t.zeros(2), t.ones(2)
    y = F.batch_norm(X, mean, var, training=True, momentum=0.5)
    flat = y.transpose(0, 1).reshape(2, -1)
    assert t.allclose(flat.mean(1), t.zeros(2), atol=1e-6)
    assert t.allclose(flat.var(1, correction=0), t.ones(2), atol=1e-4)
    # The values of torch.nn.functional.batch_norm.
    assert t.allclose(mean, t.tensor([0.75, 0.5833333]), atol=1e-6)
    assert t.allclose(var, t.tensor([1.5, 1.5833333]), atol=1e-6)


def test_evaluation_uses_the_running_statistics():
    mean, var = t.tensor([1.0, 0.5]), t.tensor([4.0, 0.25])
    weight, bias = t.tensor([2.0, 1.0]), t.tensor([0.0, 3.0])
    y = F.batch_norm(X, mean, var, weight, bias, eps=0.0)
    assert y[0].tolist() == [[0, 1], [8, 0]]
    assert mean.tolist() == [1, 0.5]


def test_gradients_pass_through_the_statistics():
    x = X.double().requires_grad_()
    weight = t.tensor([2.0, 0.5], dtype=t.float64, requires_grad=True)

    def f(x, weight):
        return F.batch_norm(x, None, None, weight, training=True).sin()

    assert t.autograd.gradcheck(f, (x, weight))


def test_half_precision_keeps_its_type():
    y = F.batch_norm(X.half(), t.zeros(2), t.ones(2), training=True)
    assert y.dtype == t.float16
    assert t.allclose(y.float(), F.batch_norm(X, None, None, training=True), atol=2e-3)


def test_errors():
    with pytest.raises(ValueError, match="Expected more than 1 value per channel"):
        F.batch_norm(t.ones(1, 2), None, None, training=True)
    with pytest.raises(RuntimeError, match="running_mean must be defined in evaluation mode"):
        F.batch_norm(X, None, None)
    with pytest.raises(ValueError, match="at least 2D input"):
        F.batch_norm(t.ones(3), t.zeros(1), t.ones(1))


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (2, 0, 4), (1, 3, 2)])
@pytest.mark.filterwarnings("ignore:var_mean")
def test_few_values(shape):
    result = t.nn.functional.batch_norm(t.ones(shape), None, None, training=True)
    assert result.shape == shape and not result.any()
