"""Tests of gradients where a derivative has a limit of its own: zeros, negative bases."""

import cmath
import math

import pytest
from under_test import t


@pytest.mark.parametrize("y, x", [(0.0, 0.0), (-0.0, 0.0), (0.0, -0.0)])
def test_atan2_at_the_origin_is_flat(y, x):
    args = [t.tensor(v, dtype=t.float64, requires_grad=True) for v in (y, x)]
    grads = t.autograd.grad(t.atan2(*args), args, create_graph=True)
    assert [g.item() for g in grads] == [0, 0]


def test_atan2_elsewhere():
    y, x = (t.tensor(v, requires_grad=True) for v in (3.0, 4.0))
    gy, gx = t.autograd.grad(t.atan2(y, x), (y, x))
    assert math.isclose(gy.item(), 0.16, rel_tol=1e-6)
    assert math.isclose(gx.item(), -0.12, rel_tol=1e-6)


@pytest.mark.parametrize("exponent", [1 + 1j, 2 + 0j, 1j])
def test_a_negative_base_has_a_complex_logarithm(exponent):
    base = t.tensor(-2.0, dtype=t.float64)
    z = t.tensor(exponent, dtype=t.complex128, requires_grad=True)
    (grad,) = t.autograd.grad(t.pow(base, z), z, t.ones_like(z))
    slope = cmath.exp(exponent * cmath.log(-2)) * cmath.log(-2)
    assert cmath.isclose(grad.item(), slope.conjugate(), rel_tol=1e-9)


@pytest.mark.parametrize("order", [0.5, -0.5, -1, -2, -3.5])
def test_norms_of_orders_below_one_are_flat_at_zero(order):
    zeros = t.zeros(3, dtype=t.float64, requires_grad=True)
    (grad,) = t.autograd.grad(t.linalg.vector_norm(zeros, order), zeros)
    assert grad.tolist() == [0, 0, 0]


def test_a_zero_beside_other_numbers_is_flat_in_a_norm_of_a_small_order():
    x = t.tensor([0.0, 4.0], dtype=t.float64, requires_grad=True)
    (grad,) = t.autograd.grad(t.linalg.vector_norm(x, 0.5), x)
    assert grad.tolist() == pytest.approx([0, 1])
