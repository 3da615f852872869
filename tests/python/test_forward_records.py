"""Every differentiable record has a forward rule that agrees with numerical derivatives."""

import pytest
import record_calls
import taeda.autograd.forward_ad as forward_ad
from sampled_calls import derivatives, without_plain
from test_gradcheck_records import CASES, OWN

import taeda
from taeda.autograd import gradcheck


def has_rule(case):
    return "no_forward" not in record_calls.records()[case.values[0]].data


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key, dtype", filter(has_rule, CASES))
def test_forward_rule(key, dtype):
    for sample in derivatives(key, getattr(taeda, dtype)):
        gradcheck(
            without_plain(sample),
            sample.tensors,
            check_forward_ad=True,
            check_backward_ad=False,
            check_undefined_grad=False,
        )


def real_sum(parts):
    total = sum(parts)
    return total.real if total.is_complex() else total


def scalar_of(sample):
    """The sum of a call's squared results, as a function of the leaves among its tensors."""
    function = without_plain(sample)

    def scalar(*leaves):
        fresh = iter(leaves)
        tensors = [next(fresh) if t.requires_grad else t for t in sample.tensors]
        results = [r for r in function(*tensors) if isinstance(r, taeda.Tensor)]
        return real_sum((r * r).sum() for r in results if record_calls.is_number(r))

    return scalar


def along(tangents, grads):
    return real_sum((t.conj() * g).sum() for t, g in zip(tangents, grads))


def reverse_over_forward(scalar, primals, u, v):
    leaves = [x.clone().requires_grad_() for x in primals]
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(x, t) for x, t in zip(leaves, u)]
        tangent = forward_ad.unpack_dual(scalar(*duals)).tangent
        if tangent is None or not tangent.requires_grad:
            return None
        grads = taeda.autograd.grad(tangent, leaves, allow_unused=True, materialize_grads=True)
    return along(v, grads).detach()


def forward_over_reverse(scalar, primals, u, v):
    with forward_ad.dual_level():
        leaves = [x.clone().requires_grad_() for x in primals]
        duals = [forward_ad.make_dual(x, t) for x, t in zip(leaves, v)]
        grads = taeda.autograd.grad(
            scalar(*duals), duals, create_graph=True, allow_unused=True, materialize_grads=True
        )
        tangents = [forward_ad.unpack_dual(g).tangent for g in grads]
    tangents = [taeda.zeros_like(x) if t is None else t for x, t in zip(primals, tangents)]
    return along(u, tangents).detach()


# Its forward rule sums a number over a dimension when the derivative is taken of it.
WITHOUT_ORDER = {"prod.dim_int(t(3), 0, dtype=complex128) in float64"}


@pytest.mark.slow
@pytest.mark.parametrize("key, dtype", filter(has_rule, OWN))
def test_forward_over_reverse_and_reverse_over_forward(key, dtype):
    """The second derivative along two directions does not depend on the order of modes."""
    for sample in derivatives(key, getattr(taeda, dtype)):
        if str(sample) in WITHOUT_ORDER:
            continue
        primals = [t.detach() for t in sample.tensors if t.requires_grad]
        u = [taeda.randn_like(x) for x in primals]
        v = [taeda.randn_like(x) for x in primals]
        first = reverse_over_forward(scalar_of(sample), primals, u, v)
        if first is not None:
            second = forward_over_reverse(scalar_of(sample), primals, u, v)
            assert taeda.allclose(first, second, rtol=1e-6, atol=1e-8), str(sample)


@pytest.mark.parametrize("is_part", [False, True])
@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.unsqueeze_(1),
        lambda x: x.unsqueeze_(0).squeeze_(0),
        lambda x: x.t_(),
        lambda x: x.transpose_(0, 1).mul_(2),
        lambda x: x.unsqueeze_(0).mul_(taeda.tensor([[[2.0], [3.0]]])).squeeze_(0),
    ],
)
def test_views_in_place(change, is_part):
    """The tangent takes the new geometry, its own or that of the base's."""
    value, tangent = taeda.rand(2, 2, 3), taeda.rand(2, 2, 3)
    expected = change(value[1].clone()), change(tangent[1].clone())
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(value, tangent)
        x = dual[1] if is_part else dual[1].clone()
        got = forward_ad.unpack_dual(change(x))
    assert taeda.equal(got.primal, expected[0]) and taeda.equal(got.tangent, expected[1])
