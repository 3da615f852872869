"""Gradients and function transforms that a program takes inside, exported."""

import pytest
from exported_forms import reloaded

import taeda
from taeda import nn
from taeda.export import Dim, export


def test_gradients_taken_inside():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(taeda.tensor([1.0, 2.0, 3.0]))

        def forward(self, x):
            y = x.detach().requires_grad_(True)
            (inner,) = taeda.autograd.grad((self.w * y).sin().sum(), y)
            leaf = x.detach().clone().requires_grad_(True)
            (leaf * leaf).sum().backward()
            return inner + leaf.grad

    x = taeda.ones(3)
    model = Model()
    program = export(model, (x,))
    for form in (program, program.run_decompositions(), reloaded(program)):
        assert taeda.allclose(form.module()(x), model(x))


TRANSFORMS = {
    "vmap": lambda w: taeda.vmap(lambda a: (a * w).sin().sum()),
    "vmap of grad": lambda w: taeda.vmap(taeda.func.grad(lambda a: (a * w).sin().sum())),
    "vmap of jacrev": lambda w: taeda.vmap(taeda.func.jacrev(lambda a: (a * w).sin())),
    "vmap over two": lambda w: lambda x: taeda.vmap(lambda a, b: a @ b + a * w)(x, x),
    "vmap of a matrix": lambda w: taeda.vmap(lambda a: a.expand(2, 3) @ w),
    "vmap of index": lambda w: (
        lambda x: taeda.vmap(lambda a, i: a[i])(x, taeda.zeros(x.shape[0], dtype=taeda.int64))
    ),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_inside_with_a_dynamic_batch(name):
    f = TRANSFORMS[name](taeda.tensor([1.0, 2.0, 3.0]))
    program = export(f, (taeda.randn(4, 3),), dynamic_shapes=({0: Dim("batch")},))
    for form in (program, program.run_decompositions(), reloaded(program)):
        for batch in (4, 7):
            x = taeda.randn(batch, 3)
            assert taeda.allclose(form.module()(x), f(x))
