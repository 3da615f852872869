"""Arguments that a function is not differentiable in are refused where they require grad."""

import pytest
from under_test import t

F = t.nn.functional
X = t.linspace(-1, 1, 12).reshape(3, 4)
CLASSES = t.tensor([1, 0, 3])


def weight(n):
    return t.ones(n, requires_grad=True)


CALLS = {
    "nll_loss": lambda: F.nll_loss(X, CLASSES, weight(4)),
    "nll_loss2d": lambda: F.nll_loss(X.reshape(1, 3, 2, 2), t.zeros(1, 2, 2).long(), weight(3)),
    "cross_entropy": lambda: F.cross_entropy(X, CLASSES, weight(4), label_smoothing=0.1),
    "binary_cross_entropy": lambda: F.binary_cross_entropy(X.sigmoid(), X.sigmoid(), weight(4)),
    "soft_margin_loss": lambda: F.soft_margin_loss(X, weight(12).reshape(3, 4)),
    "batch_norm": lambda: F.batch_norm(X, weight(4), t.ones(4)),
    "batch_norm below": lambda: t.batch_norm(
        X, None, None, t.zeros(4), weight(4), False, 0.1, 1e-5, False
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_constant_that_requires_grad_is_refused(name):
    with pytest.raises(RuntimeError, match="is not differentiable with respect to argument"):
        CALLS[name]()
    with t.no_grad():
        CALLS[name]()


@pytest.mark.parametrize("dtype", [t.float16, t.bfloat16, t.float32])
def test_the_norm_of_small_floats_is_computed_in_wider_ones(dtype):
    p = t.nn.Parameter(t.zeros(2, dtype=dtype))
    p.grad = t.tensor([300.0, 400.0], dtype=dtype)
    assert t.nn.utils.clip_grad_norm_([p], 1.0).item() == 500
    assert p.grad.tolist() == pytest.approx([0.6, 0.8], abs=1e-2)


def test_vector_norms_count_reach_and_sum():
    x = t.tensor([[3.0, 0.0, -4.0], [0.0, 0.0, 2.0]])
    norm = t.linalg.vector_norm
    assert norm(x, 0).item() == 3
    assert norm(x, float("inf"), 1).tolist() == [4, 2]
    assert norm(x, -float("inf"), 0).tolist() == [0, 0, 2]
    assert norm(x, 1, (0, 1), True).tolist() == [[9.0]]
    assert norm(x[0]).item() == 5 and norm(x[0], dtype=t.float64).dtype == t.float64
    with pytest.raises(RuntimeError, match="Expected a floating point or complex tensor"):
        norm(t.ones(2, dtype=t.int64))
