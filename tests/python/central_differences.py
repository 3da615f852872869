"""Derivatives by moving one element at a time."""

import pytest
from under_test import t

np = pytest.importorskip("numpy")


def differences(function, arrays, step=1e-5):
    """The gradients of a function of tensors that returns a number, at these arrays."""
    grads = []
    for k, a in enumerate(arrays):
        grad = np.zeros(a.shape)
        for at in np.ndindex(*a.shape):
            sides = []
            for sign in (1, -1):
                moved = [b.copy() for b in arrays]
                moved[k][at] += sign * step
                sides.append(float(function(*[t.tensor(b) for b in moved])))
            grad[at] = (sides[0] - sides[1]) / (2 * step)
        grads.append(grad)
    return grads
