"""multi_head_attention_forward: results, gradients and refusals against PyTorch's, and tracing."""

import warnings

import numpy
import pytest
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda
from taeda.nn import functional as F

BATCH, QUERIES, KEYS, SIZE, HEADS = 2, 3, 4, 8, 2
ALL = BATCH * HEADS


def numbers(seed, *shape):
    return numpy.random.default_rng(seed).standard_normal(shape)


def truths(*shape):
    """A mask that hides some keys, never the first."""
    mask = numpy.random.default_rng(9).random(shape) < 0.4
    mask[..., 0] = False
    return mask


def arguments(**changes):
    """The arguments of a call, tensors as arrays; one that is `None` in `changes` is left out."""
    return {
        "query": numbers(1, QUERIES, BATCH, SIZE),
        "key": numbers(2, KEYS, BATCH, SIZE),
        "value": numbers(3, KEYS, BATCH, SIZE),
        "embed_dim_to_check": SIZE,
        "num_heads": HEADS,
        "in_proj_weight": numbers(4, 3 * SIZE, SIZE),
        "in_proj_bias": numbers(5, 3 * SIZE),
        "bias_k": None,
        "bias_v": None,
        "add_zero_attn": False,
        "dropout_p": 0.0,
        "out_proj_weight": numbers(6, SIZE, SIZE),
        "out_proj_bias": numbers(7, SIZE),
        **changes,
    }


def separate(key=SIZE, value=SIZE):
    return {
        "use_separate_proj_weight": True,
        "in_proj_weight": None,
        "q_proj_weight": numbers(8, SIZE, SIZE),
        "k_proj_weight": numbers(9, SIZE, key),
        "v_proj_weight": numbers(10, SIZE, value),
    }


BIAS_KV = {"bias_k": numbers(11, 1, 1, SIZE), "bias_v": numbers(12, 1, 1, SIZE)}
STATIC = {
    "static_k": numbers(13, ALL, KEYS, SIZE // HEADS),
    "static_v": numbers(14, ALL, KEYS, SIZE // HEADS),
}
WITHOUT_BATCH = {
    "query": numbers(1, QUERIES, SIZE),
    "key": numbers(2, KEYS, SIZE),
    "value": numbers(3, KEYS, SIZE),
}
CALLS = {
    "plain": {},
    "no biases": {"in_proj_bias": None, "out_proj_bias": None},
    "one input": {"key": "query", "value": "query"},
    "one memory": {"value": "key"},
    "one memory, no biases": {"value": "key", "in_proj_bias": None},
    "without a batch": WITHOUT_BATCH,
    "without a batch, masks": {
        **WITHOUT_BATCH,
        "key_padding_mask": truths(KEYS),
        "attn_mask": truths(HEADS, QUERIES, KEYS),
    },
    "truth mask": {"attn_mask": truths(QUERIES, KEYS)},
    "number mask": {"attn_mask": numbers(15, QUERIES, KEYS)},
    "mask by head": {"attn_mask": truths(ALL, QUERIES, KEYS)},
    "padding": {"key_padding_mask": truths(BATCH, KEYS)},
    "both masks": {
        "key_padding_mask": truths(BATCH, KEYS),
        "attn_mask": numbers(15, QUERIES, KEYS),
    },
    "causal": {"key": "query", "value": "query", "attn_mask": "later", "is_causal": True},
    "causal and padding": {
        "key": "query",
        "value": "query",
        "attn_mask": "later",
        "key_padding_mask": truths(BATCH, QUERIES),
        "is_causal": True,
    },
    "learnt key": BIAS_KV,
    "zero key": {"add_zero_attn": True},
    "both keys, both masks": {
        **BIAS_KV,
        "add_zero_attn": True,
        "key_padding_mask": truths(BATCH, KEYS),
        "attn_mask": truths(QUERIES, KEYS),
    },
    "given heads": STATIC,
    "separate": separate(),
    "other sizes": {
        **separate(key=3, value=5),
        "key": numbers(2, KEYS, BATCH, 3),
        "value": numbers(3, KEYS, BATCH, 5),
        "in_proj_bias": None,
    },
    "flags of any kind": {"add_zero_attn": 1, "training": [], "dropout_p": 1},
}
OUTPUTS = {
    "mean weights": {},
    "weights by head": {"average_attn_weights": False},
    "no weights": {"need_weights": False},
}
REFUSED = {
    "one dimension": {"query": numbers(1, SIZE)},
    "key without a batch": {"key": numbers(2, KEYS, SIZE)},
    "value without a batch": {"value": numbers(2, KEYS, SIZE)},
    "padding of three": {"key_padding_mask": truths(1, BATCH, KEYS)},
    "padding without a batch": {**WITHOUT_BATCH, "key_padding_mask": truths(1, KEYS)},
    "mask of one": {"attn_mask": truths(KEYS)},
    "mask of one without a batch": {**WITHOUT_BATCH, "attn_mask": truths(KEYS)},
    "mask of other heads": {**WITHOUT_BATCH, "attn_mask": truths(HEADS + 1, QUERIES, KEYS)},
    "mask shape": {"attn_mask": truths(KEYS, KEYS)},
    "mask shape by head": {"attn_mask": truths(HEADS, QUERIES, KEYS)},
    "mask of integers": {"attn_mask": numbers(1, QUERIES, KEYS).astype("int64")},
    "padding of integers": {"key_padding_mask": numbers(1, BATCH, KEYS).astype("int64")},
    "padding keys": {"key_padding_mask": truths(BATCH, KEYS + 1)},
    "padding batch": {"key_padding_mask": truths(BATCH + 1, KEYS)},
    "causal without mask": {"is_causal": True},
    "features": {"embed_dim_to_check": 4},
    "heads": {"num_heads": 3},
    "no heads": {"num_heads": 0},
    "keys and values": {"value": numbers(3, KEYS + 1, BATCH, SIZE)},
    "keys and values, separate": {**separate(), "value": numbers(3, KEYS + 1, BATCH, SIZE)},
    "no weight": {"in_proj_weight": None},
    "no query weight": {**separate(), "q_proj_weight": None},
    "no value weight": {**separate(), "v_proj_weight": None},
    "key weight": separate(key=3),
    "separate bias": {**separate(), "in_proj_bias": numbers(5, 3 * SIZE + 3)},
    "bias of keys alone": {"bias_k": numbers(1, 1, 1, SIZE)},
    "bias of values alone": {"bias_v": numbers(1, 1, 1, SIZE)},
    "bias and given key": {**BIAS_KV, "static_k": STATIC["static_k"]},
    "bias and given value": {**BIAS_KV, "static_v": STATIC["static_v"]},
    "given heads": {"static_k": numbers(1, ALL + 1, KEYS, SIZE // HEADS)},
    "given features": {"static_v": numbers(1, ALL, KEYS, SIZE)},
}


def call(t, changes):
    """(results, tensors that have gradients) of a library's function."""
    given = arguments(**changes)
    later = numpy.triu(numpy.ones((QUERIES, QUERIES), dtype=bool), 1)
    given = {name: later if isinstance(v, str) and v == "later" else v for name, v in given.items()}
    tensors = {
        name: t.tensor(value) for name, value in given.items() if isinstance(value, numpy.ndarray)
    }
    leaves = [
        tensor.requires_grad_()
        for name, tensor in tensors.items()
        if tensor.is_floating_point() and "mask" not in name
    ]
    given = {
        name: tensors[value] if isinstance(value, str) else tensors.get(name, value)
        for name, value in given.items()
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return t.nn.functional.multi_head_attention_forward(**given), leaves


def values(t, changes):
    (output, weights), leaves = call(t, changes)
    loss = output.square().sum() + (0 if weights is None else weights.square().sum())
    loss.backward()
    found = [output, weights, *(leaf.grad for leaf in leaves)]
    return [None if tensor is None else tensor.detach().numpy() for tensor in found]


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients(torch, name, output):
    changes = {**CALLS[name], **OUTPUTS[output]}
    for ours, theirs in zip(values(taeda, changes), values(torch, changes), strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            numpy.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(torch, name):
    def refusal(t):
        with pytest.raises(Exception) as caught:
            call(t, REFUSED[name])
        return caught.type.__name__, str(caught.value)

    assert refusal(taeda) == refusal(torch)


def test_mismatched_masks_warn():
    mask = taeda.zeros(QUERIES, KEYS)
    padding = taeda.zeros(BATCH, KEYS, dtype=taeda.bool)
    with pytest.warns(UserWarning, match="mismatched key_padding_mask and attn_mask is deprecated"):
        F._canonical_mask(padding, "key_padding_mask", mask.dtype, "attn_mask", taeda.float32)


def test_mask_of_truths_becomes_numbers():
    mask = F._canonical_mask(taeda.tensor([True, False]), "m", None, "", taeda.float64)
    assert mask.dtype == taeda.float64
    assert mask.tolist() == [float("-inf"), 0.0]
    assert F._canonical_mask(None, "m", None, "", taeda.float64) is None


def test_overrides_see_the_public_function():
    seen = []

    class Noted(taeda.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((func, len(args), sorted(kwargs)[:2]))
            return "answer"

    given = arguments()
    given = {n: taeda.tensor(v) if isinstance(v, numpy.ndarray) else v for n, v in given.items()}
    given["out_proj_bias"] = given["out_proj_bias"].as_subclass(Noted)
    assert F.multi_head_attention_forward(**given) == "answer"
    assert seen == [(F.multi_head_attention_forward, 13, ["attn_mask", "average_attn_weights"])]


@pytest.mark.parametrize("need_weights", [True, False])
def test_sizes_stay_symbolic_in_a_trace(need_weights):
    layer = taeda.nn.MultiheadAttention(SIZE, HEADS)

    def attend(x):
        return layer(x, x, x, need_weights=need_weights)[0]

    traced = make_fx(attend, tracing_mode="symbolic", _allow_non_fake_inputs=True)(
        taeda.rand(3, 2, SIZE)
    )
    other = taeda.rand(5, 4, SIZE)
    taeda.testing.assert_close(traced(other), attend(other))
