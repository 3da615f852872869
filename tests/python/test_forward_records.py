"""Every differentiable record has a forward rule that agrees with numerical derivatives."""

import pytest
import taeda.autograd.forward_ad as forward_ad
from record_samples import all_records, samples

import taeda
from taeda.autograd import gradcheck

DTYPES = ["float64", "complex128"]


def cases():
    return [
        pytest.param(name, dtype, id=f"{name}-{dtype}")
        for name in all_records()
        for dtype in DTYPES
        if samples(name, getattr(taeda, dtype))
    ]


@pytest.mark.parametrize("name, dtype", cases())
def test_forward_rule(name, dtype):
    for sample in samples(name, getattr(taeda, dtype)):
        gradcheck(
            lambda *args, sample=sample: sample.fn(*args, **sample.kwargs),
            sample.args,
            check_forward_ad=True,
            check_backward_ad=False,
            check_undefined_grad=False,
        )


@pytest.mark.parametrize("name, dtype", cases())
def test_forward_over_reverse_and_reverse_over_forward(name, dtype):
    """The second derivative along two directions does not depend on the order of modes."""
    for sample in samples(name, getattr(taeda, dtype)):
        inputs = [a for a in sample.args if isinstance(a, taeda.Tensor) and a.requires_grad]
        if not inputs or any(isinstance(a, (list, tuple)) for a in sample.args):
            continue
        primals = [x.detach() for x in inputs]
        taeda.manual_seed(0)
        u = [taeda.randn_like(x) for x in primals]
        v = [taeda.randn_like(x) for x in primals]

        def scalar(*new, sample=sample):
            fresh = iter(new)
            args = [
                next(fresh) if isinstance(a, taeda.Tensor) and a.requires_grad else a
                for a in sample.args
            ]
            out = sample.fn(*args, **sample.kwargs)
            outs = out if isinstance(out, (tuple, list)) else [out]
            parts = [o for o in outs if o.is_floating_point() or o.is_complex()]
            total = sum((o * o).sum() for o in parts)
            return total.real if total.is_complex() else total

        def along(tangents, grads):
            parts = [(t.conj() * g).sum() for t, g in zip(tangents, grads)]
            total = sum(parts)
            return total.real if total.is_complex() else total

        # reverse over forward
        leaves = [x.clone().requires_grad_() for x in primals]
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(x, t) for x, t in zip(leaves, u)]
            tangent = forward_ad.unpack_dual(scalar(*duals)).tangent
            if tangent is None or not tangent.requires_grad:
                continue
            grads = taeda.autograd.grad(tangent, leaves, allow_unused=True, materialize_grads=True)
        first = along(v, grads)
        # forward over reverse
        with forward_ad.dual_level():
            leaves = [x.clone().requires_grad_() for x in primals]
            duals = [forward_ad.make_dual(x, t) for x, t in zip(leaves, v)]
            grads = taeda.autograd.grad(
                scalar(*duals), duals, create_graph=True, allow_unused=True, materialize_grads=True
            )
            tangents = [forward_ad.unpack_dual(g).tangent for g in grads]
            tangents = [taeda.zeros_like(x) if t is None else t for x, t in zip(primals, tangents)]
        second = along(u, tangents)
        assert taeda.allclose(first.detach(), second.detach(), rtol=1e-6, atol=1e-8)
