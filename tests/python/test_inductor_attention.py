"""Attention that a program spells out becomes one operator."""

import math

import pytest
from taeda._inductor import compile, config
from taeda.fx.aot import aot_function
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda as t
import taeda.nn.functional as F

BATCH, HEADS, LENGTH, WIDTH = 2, 3, 7, 8
MASK = t.randn(LENGTH, LENGTH)
LATER = t.ones(LENGTH, LENGTH).triu(1).bool()
INF = float("inf")
ATTENTION = "_scaled_dot_product_flash_attention_for_cpu"


def spellings(mask, later):
    """By name: functions of query, key and value."""
    return {
        "matmul": lambda q, k, v: t.matmul(
            t.softmax(t.matmul(q, k.transpose(-2, -1)) / math.sqrt(WIDTH), dim=-1), v
        ),
        "operators": lambda q, k, v: F.softmax(q @ k.mT * WIDTH**-0.5, dim=-1) @ v,
        "scaled_query": lambda q, k, v: ((q * 0.3) @ k.permute(0, 1, 3, 2)).softmax(3) @ v,
        "unscaled": lambda q, k, v: (q @ k.mT).softmax(-1) @ v,
        "scaled_twice": lambda q, k, v: (q @ k.mT * 2 / 7).softmax(-1) @ v,
        "added_mask": lambda q, k, v: (q @ k.mT / 3 + mask).softmax(-1) @ v,
        "mask_first": lambda q, k, v: (mask + q @ k.mT / 3).softmax(-1) @ v,
        "mask_per_batch": lambda q, k, v: (q @ k.mT + mask[None, None, :1]).softmax(-1) @ v,
        "filled_mask": lambda q, k, v: (q @ k.mT).masked_fill(later, -INF).softmax(-1) @ v,
        "in_place": lambda q, k, v: (q @ k.mT).mul_(0.3).add_(mask).softmax(-1) @ v,
        "filled_in_place": lambda q, k, v: (q @ k.mT).masked_fill_(later, -INF).softmax(-1) @ v,
        "einsum": lambda q, k, v: t.einsum(
            "bhij,bhjd->bhid", (t.einsum("bhid,bhjd->bhij", q, k) / 3).softmax(-1), v
        ),
        "einsum_of_heads_last": lambda q, k, v: t.einsum(
            "bhqk, bkhd -> bqhd",
            t.einsum("bqhd, bkhd -> bhqk", q.transpose(1, 2), k.transpose(1, 2)).softmax(-1),
            v.transpose(1, 2),
        ),
        "size_scale": lambda q, k, v: (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v,
        "tensor_scale": lambda q, k, v: (q @ k.mT * q.amax().sigmoid()).softmax(-1) @ v,
        "scale_per_head": lambda q, k, v: (
            (q @ k.mT / k.square().mean((-2, -1), True)).softmax(-1) @ v
        ),
        "two_masks": lambda q, k, v: (q @ k.mT + mask + mask.T).softmax(-1) @ v,
        "filled_and_added": lambda q, k, v: (
            ((q @ k.mT).masked_fill(later, -INF) + mask).softmax(-1) @ v
        ),
        "added_and_filled": lambda q, k, v: (
            (q @ k.mT + mask).masked_fill(later, -INF).softmax(-1) @ v
        ),
        "where": lambda q, k, v: t.where(later, -INF, q @ k.mT / 3).softmax(-1) @ v,
        "where_not": lambda q, k, v: t.where(~later, q @ k.mT / 3, -INF).softmax(-1) @ v,
        "where_finite": lambda q, k, v: (
            t.where(~later, q @ k.mT / 3, t.finfo(t.float32).min).softmax(-1) @ v
        ),
        "finite_fill": lambda q, k, v: (q @ k.mT).masked_fill(later, -1e9).softmax(-1) @ v,
        "float_softmax": lambda q, k, v: (
            F.softmax(q @ k.mT / 3 + mask, dim=-1, dtype=t.float32).to(q.dtype) @ v
        ),
        "one_head_baddbmm": lambda q, k, v: t.bmm(
            t.baddbmm(mask, q[:, 0], k[:, 0].mT, beta=1, alpha=0.3).softmax(-1), v[:, 0]
        ),
        "one_head_scaled_bmm": lambda q, k, v: t.bmm(
            t.baddbmm(mask, q[:, 0], k[:, 0].mT, beta=0, alpha=0.3).softmax(-1), v[:, 0]
        ),
        "one_head": lambda q, k, v: (q[:, 0] @ k[:, 0].mT / 3).softmax(-1) @ v[:, 0],
        "one_head_bmm": lambda q, k, v: t.bmm(t.bmm(q[:, 0], k[:, 0].mT).softmax(-1), v[:, 0]),
        "one_head_masked": lambda q, k, v: (q[:, 0] @ k[:, 0].mT + mask).softmax(-1) @ v[:, 0],
    }


SPELLINGS = spellings(MASK, LATER)
OTHERS = {
    "dropout": lambda q, k, v: F.dropout((q @ k.mT).softmax(-1), 0.5) @ v,
    "other_dimension": lambda q, k, v: (q @ k.mT).softmax(-2) @ v,
    "near_fill": lambda q, k, v: (q @ k.mT).masked_fill(LATER, -5.0).softmax(-1) @ v,
    "where_near": lambda q, k, v: t.where(LATER, -1e4, q @ k.mT).softmax(-1) @ v,
    "where_weights": lambda q, k, v: t.where(LATER, 0.0, (q @ k.mT).softmax(-1)) @ v,
    "scaled_mask": lambda q, k, v: ((q @ k.mT + MASK) * 2).softmax(-1) @ v,
    "added_number": lambda q, k, v: (q @ k.mT + 2).softmax(-1) @ v,
    "scale_per_row": lambda q, k, v: (q @ k.mT * q.amax(-1, True)).softmax(-1) @ v,
    "other_dtype": lambda q, k, v: (q @ k.mT).softmax(-1, dtype=t.float64) @ v.double(),
    "shared_heads": lambda q, k, v: (q @ k[:, :1].mT).softmax(-1) @ v,
    "other_width": lambda q, k, v: (q @ k.mT).softmax(-1) @ v[..., :5],
    "einsum_of_other_sums": lambda q, k, v: t.einsum(
        "bhij,bhid->bhjd", t.einsum("bhid,bhjd->bhij", q, k).softmax(-1), v
    ),
}


def tensors(has_gradients=False):
    return [t.randn(BATCH, HEADS, LENGTH, WIDTH, requires_grad=has_gradients) for _ in range(3)]


def captured(f, inputs, mode="symbolic"):
    gm = make_fx(f, tracing_mode=mode, pre_dispatch=True, _allow_non_fake_inputs=True)(*inputs)
    return compile(gm, inputs, native="never")


def called(compiled):
    return [name for plan in compiled.report() for name in plan["called"]]


@pytest.mark.parametrize("name", SPELLINGS)
@pytest.mark.parametrize("mode", ["symbolic", "real"])
def test_spellings(name, mode):
    f, inputs = SPELLINGS[name], tensors()
    compiled = captured(f, inputs, mode)
    assert called(compiled) == [ATTENTION]
    t.testing.assert_close(compiled(*inputs), f(*inputs))


# Gradients in one pass are the faster ones for many keys.
MANY = 1024
LONG = spellings(t.randn(MANY, MANY), t.ones(MANY, MANY).triu(1).bool())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", LONG)
def test_gradients(name):
    f = LONG[name]
    inputs = [t.randn(1, 2, MANY, WIDTH, requires_grad=True) for _ in range(3)]
    compiled = captured(f, inputs)
    assert called(compiled) == [ATTENTION, ATTENTION + "_backward"]
    weight = t.randn_like(f(*inputs))
    want = t.autograd.grad((f(*inputs) * weight).sum(), inputs)
    have = t.autograd.grad((compiled(*inputs) * weight).sum(), inputs)
    for a, b in zip(have, want, strict=True):
        t.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_gradients_for_few_keys_are_those_of_the_spelled_out_form():
    f, inputs = SPELLINGS["added_mask"], tensors(True)
    compiled = captured(f, inputs)
    assert ATTENTION not in called(compiled)
    want, have = f(*inputs), compiled(*inputs)
    assert t.equal(have, want)
    for a, b in zip(
        t.autograd.grad(have.sum(), inputs), t.autograd.grad(want.sum(), inputs), strict=True
    ):
        assert t.equal(a, b)


@pytest.mark.parametrize("name", OTHERS)
def test_what_only_looks_like_it(name):
    f, inputs = OTHERS[name], tensors()
    compiled = captured(f, inputs)
    assert ATTENTION not in called(compiled)
    t.manual_seed(3)
    want = f(*inputs)
    t.manual_seed(3)
    assert t.equal(compiled(*inputs), want)


@pytest.mark.parametrize("alpha", [1, 0.5, -2])
def test_products_that_are_added_to_something(alpha):
    q, k, v = tensors()
    scores = t.randn(BATCH, HEADS, LENGTH, LENGTH)

    def f(scores, q, k):
        return t.add(scores, q @ k.mT, alpha=alpha), t.sub(scores, q @ k.mT, alpha=alpha)

    compiled = captured(f, [scores, q, k])
    for got, want in zip(compiled(scores, q, k), f(scores, q, k), strict=True):
        assert t.equal(got, want)


def test_scores_that_are_written_to_are_others():
    def f(q, k, v):
        scores = q @ k.mT
        weights = scores.softmax(-1)
        weights[:, 0].zero_()
        return weights @ v

    inputs = tensors()
    compiled = captured(f, inputs)
    assert ATTENTION not in called(compiled)
    assert t.equal(compiled(*inputs), f(*inputs))


def test_operands_that_are_written_to_later():
    def f(q, k, v):
        key = k * 1
        weights = (q @ key.mT).softmax(-1)
        key.zero_()
        return weights @ v

    inputs = tensors()
    compiled = captured(f, inputs)
    assert ATTENTION not in called(compiled)
    assert t.equal(compiled(*inputs), f(*inputs))


@pytest.mark.parametrize("fills", [True, False])
def test_rows_without_a_place_are_nan_as_in_eager(fills):
    closed = LATER.clone()
    closed[2] = True
    added = t.zeros(LENGTH, LENGTH).masked_fill(closed, -INF)

    def f(q, k, v):
        scores = q @ k.mT
        scores = scores.masked_fill(closed, -INF) if fills else scores + added
        return scores.softmax(-1) @ v

    inputs = tensors()
    compiled = captured(f, inputs)
    assert called(compiled) == [ATTENTION]
    have, want = compiled(*inputs), f(*inputs)
    assert want[:, :, 2].isnan().all()
    t.testing.assert_close(have, want, equal_nan=True)


@pytest.mark.parametrize("dtype", [t.float32, t.float64, t.bfloat16])
@pytest.mark.parametrize("is_masked", [True, False])
def test_rows_whose_scores_overflow_are_nan_as_in_eager(dtype, is_masked):
    large = 1e200 if dtype == t.float64 else 1e20

    def f(q, k, v):
        scores = q @ k.mT
        if is_masked:
            scores = scores.masked_fill(LATER, -INF)
        return scores.softmax(-1) @ v

    q, k, v = (x.abs().to(dtype) for x in tensors())
    inputs = [q, k, v]
    compiled = captured(f, inputs)
    assert called(compiled) == [ATTENTION]
    q[:, :, 2] *= -large
    k *= large
    q[:, :, 3:] = 0
    have, want = compiled(*inputs), f(*inputs)
    assert want[:, :, 2].isnan().all() and not want[:, :, 3:].isnan().any()
    t.testing.assert_close(have, want, equal_nan=True, rtol=2e-2, atol=2e-2)


def test_rows_of_no_keys_are_zero_as_in_eager():
    def f(q, k, v, takes):
        k, v = k[:, :, takes], v[:, :, takes]
        return (q @ k.mT).softmax(-1) @ v

    inputs = tensors()
    compiled = captured(f, [*inputs, LATER[2]])
    for takes in (LATER[2], LATER[-1]):
        t.testing.assert_close(compiled(*inputs, takes), f(*inputs, takes))


def test_attention_of_the_user_has_zeros_where_a_mask_leaves_nothing():
    closed = LATER.clone()
    closed[2] = True

    def f(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, closed.logical_not())

    inputs = tensors()
    have = captured(f, inputs)(*inputs)
    assert not have[:, :, 2].any()
    t.testing.assert_close(have, f(*inputs))


@pytest.mark.parametrize("by_where", [True, False])
@pytest.mark.parametrize("fill", [-1e9, t.finfo(t.float32).min])
def test_rows_without_a_place_are_means_where_a_finite_number_is_filled_in(by_where, fill):
    closed = LATER.clone()
    closed[2] = True

    def f(q, k, v):
        scores = q @ k.mT
        scores = t.where(closed, fill, scores) if by_where else scores.masked_fill(closed, fill)
        return scores.softmax(-1) @ v

    inputs = tensors()
    compiled = captured(f, inputs)
    assert called(compiled) == [ATTENTION]
    have, want = compiled(*inputs), f(*inputs)
    t.testing.assert_close(want[:, :, 2], inputs[2].mean(-2))
    t.testing.assert_close(have, want)


@pytest.mark.parametrize("dtype", [t.bfloat16, t.float16])
@pytest.mark.parametrize(
    "weights",
    [
        lambda s, q: F.softmax(s, dim=-1, dtype=t.float32).to(q.dtype),
        lambda s, q: s.float().softmax(-1).type_as(q),
        lambda s, q: s.softmax(-1),
    ],
)
def test_softmax_of_half_types(dtype, weights):
    def f(q, k, v, mask):
        return weights(q @ k.mT / 3 + mask, q) @ v

    inputs = [x.to(dtype) for x in (*tensors(), MASK)]
    compiled = captured(f, inputs)
    assert called(compiled) == [ATTENTION]
    t.testing.assert_close(compiled(*inputs), f(*inputs), rtol=3e-2, atol=2e-2)


def test_a_finite_number_in_half_precision_keeps_the_spelled_out_form():
    def f(q, k, v):
        return (q @ k.mT).masked_fill(LATER, t.finfo(t.float16).min).softmax(-1) @ v

    inputs = [x.half() for x in tensors()]
    compiled = captured(f, inputs)
    assert ATTENTION not in called(compiled)
    t.testing.assert_close(compiled(*inputs), f(*inputs), rtol=1e-2, atol=1e-2)


def test_gradients_of_a_temperature():
    def f(q, k, v, temperature):
        return (q @ k.mT * temperature.exp()).softmax(-1) @ v

    inputs = [t.randn(1, 2, MANY, WIDTH, requires_grad=True) for _ in range(3)]
    inputs.append(t.randn(2, 1, 1, requires_grad=True))
    compiled = captured(f, inputs)
    assert called(compiled) == [ATTENTION, ATTENTION + "_backward"]
    want = t.autograd.grad(f(*inputs).square().sum(), inputs)
    have = t.autograd.grad(compiled(*inputs).square().sum(), inputs)
    for a, b in zip(have, want, strict=True):
        t.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)


def test_weights_that_are_results_too():
    def f(q, k, v):
        weights = (q @ k.mT).softmax(-1)
        return weights @ v, weights

    inputs = tensors()
    compiled = captured(f, inputs)
    for a, b in zip(compiled(*inputs), f(*inputs), strict=True):
        t.testing.assert_close(a, b)


def test_other_lengths():
    f, inputs = SPELLINGS["operators"], tensors()
    compiled = captured(f, inputs)
    longer = [t.randn(4, HEADS, 19, WIDTH) for _ in range(3)]
    t.testing.assert_close(compiled(*longer), f(*longer))


def test_patterns_switched_off():
    f, inputs = SPELLINGS["added_mask"], tensors()
    with config.patch(pattern_matcher=False):
        compiled = captured(f, inputs)
    assert ATTENTION not in called(compiled)
    assert t.equal(compiled(*inputs), f(*inputs))


def test_a_captured_module():
    class Attention(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.query, self.key = t.nn.Linear(WIDTH, WIDTH), t.nn.Linear(WIDTH, WIDTH)

        def forward(self, x):
            scores = self.query(x) @ self.key(x).transpose(-2, -1) / math.sqrt(WIDTH)
            return scores.softmax(dim=-1) @ x

    model, x = Attention(), t.randn(BATCH, LENGTH, WIDTH, requires_grad=True)
    compiled = t.compile(model)
    t.testing.assert_close(compiled(x), model(x))
    want = t.autograd.grad(model(x).square().sum(), list(model.parameters()))
    have = t.autograd.grad(compiled(x).square().sum(), list(model.parameters()))
    for a, b in zip(have, want, strict=True):
        t.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_graphs_behind_autograd_keep_what_they_spell():
    def f(x, w):
        return t.softmax((x @ w) @ x.transpose(1, 2) / 3, -1) @ x

    made = []

    def kernels(gm, inputs):
        made.append(compile(gm, inputs, native="never"))
        return made[-1]

    x, w = t.randn(2, 3, 4, requires_grad=True), t.randn(4, 4)
    out = aot_function(f, kernels)(x, w)
    assert t.equal(out, f(x, w)) and ATTENTION not in called(made[0])
    assert t.equal(*(t.autograd.grad(y.sum(), x)[0] for y in (out, f(x, w))))
