"""Tests the fused operators of attention layers: values, when layers take them, errors."""

import pytest
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda as t
from taeda.backends import mha

nn = t.nn


@pytest.fixture
def taken(monkeypatch):
    """The names of the fused operators that layers call, in order."""
    names = []

    def note(name):
        operator = getattr(t._C, name)

        def noted(*args, **kwargs):
            names.append(name)
            return operator(*args, **kwargs)

        monkeypatch.setattr(t._C, name, noted)

    note("_native_multi_head_attention")
    note("_transformer_encoder_layer_fwd")
    return names


def without_fused(layer, *args, **kwargs):
    """What the layer gives by the operators that training uses."""
    mha.set_fastpath_enabled(False)
    try:
        with t.no_grad():
            return layer(*args, **kwargs)
    finally:
        mha.set_fastpath_enabled(True)


def padding(batch, length):
    mask = t.zeros(batch, length, dtype=t.bool)
    mask[0, length - 2 :] = True
    return mask


def later(length):
    return t.ones(length, length, dtype=t.bool).triu(1)


MASKS = {
    "none": lambda b, h, n: {},
    "padding": lambda b, h, n: {"key_padding_mask": padding(b, n)},
    "later": lambda b, h, n: {"attn_mask": later(n)},
    "heads": lambda b, h, n: {"attn_mask": later(n).expand(b * h, n, n)},
    "both": lambda b, h, n: {"attn_mask": later(n), "key_padding_mask": padding(b, n)},
}


# ---- attention of several heads ----
@pytest.mark.parametrize("dtype", [t.float32, t.float64])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize(
    "weights",
    [{"need_weights": False}, {}, {"average_attn_weights": False}],
    ids=["none", "mean", "heads"],
)
def test_attention_is_that_of_training(taken, mask, weights, dtype):
    t.manual_seed(0)
    layer = nn.MultiheadAttention(8, 2, batch_first=True, dtype=dtype).eval()
    nn.init.normal_(layer.in_proj_bias)
    x = t.randn(3, 7, 8, dtype=dtype)
    settings = {**MASKS[mask](3, 2, 7), **weights}
    expected = without_fused(layer, x, x, x, **settings)
    assert taken == []
    with t.no_grad():
        got = layer(x, x, x, **settings)
    assert taken == ["_native_multi_head_attention"]
    assert t.allclose(got[0], expected[0], atol=1e-5)
    if expected[1] is None:
        assert got[1] is None
    else:
        assert t.allclose(got[1], expected[1], atol=1e-5)


REASONS = {
    "training": lambda: (nn.MultiheadAttention(8, 2, batch_first=True), {}),
    "length first": lambda: (nn.MultiheadAttention(8, 2).eval(), {}),
    "odd heads": lambda: (nn.MultiheadAttention(8, 1, batch_first=True).eval(), {}),
    "no bias": lambda: (nn.MultiheadAttention(8, 2, bias=False, batch_first=True).eval(), {}),
    "bias of keys": lambda: (
        nn.MultiheadAttention(8, 2, add_bias_kv=True, batch_first=True).eval(),
        {},
    ),
    "zeros": lambda: (
        nn.MultiheadAttention(8, 2, add_zero_attn=True, batch_first=True).eval(),
        {},
    ),
    "mask of numbers": lambda: (
        nn.MultiheadAttention(8, 2, batch_first=True).eval(),
        {"attn_mask": t.zeros(7, 7)},
    ),
}


@pytest.mark.parametrize("reason", REASONS)
def test_layers_that_do_not_fit(taken, reason):
    layer, settings = REASONS[reason]()
    x = t.randn(3, 7, 8) if layer.batch_first else t.randn(7, 3, 8)
    with t.no_grad():
        assert layer(x, x, x, **settings)[0].shape == x.shape
    assert taken == []


def test_inputs_that_do_not_fit(taken):
    layer = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x = t.randn(3, 7, 8)
    layer(x, x, x)  # its parameters require a gradient
    with t.no_grad():
        layer(x, x, x.clone())
        layer(x[0], x[0], x[0])
        with t.autocast("cpu", t.bfloat16):
            layer(x, x, x)
    assert taken == []
    for parameter in layer.parameters():
        parameter.requires_grad_(False)
    layer(x, x, x)
    assert taken == ["_native_multi_head_attention"]


def test_a_sequence_of_padding_gives_the_bias():
    layer = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    nn.init.normal_(layer.out_proj.bias)
    x = t.randn(2, 5, 8)
    hidden = t.tensor([[False] * 5, [True] * 5])
    with t.no_grad():
        output, _ = layer(x, x, x, key_padding_mask=hidden, need_weights=False)
    assert t.equal(output[1], layer.out_proj.bias.expand(5, 8)) and t.isfinite(output).all()


# ---- the operator ----
def operands(batch=2, length=5, width=8):
    t.manual_seed(1)
    x = t.randn(batch, length, width)
    shapes = (3 * width, width), (3 * width,), (width, width), (width,)
    return x, [t.randn(*shape) for shape in shapes]


def test_inputs_of_their_own_are_projected_apart():
    x, weights = operands()
    packed, _ = t._native_multi_head_attention(x, x, x, 8, 2, *weights)
    for key, value in ((x.clone(), x), (x.clone(), x.clone())):
        apart, _ = t._native_multi_head_attention(x, key, value, 8, 2, *weights)
        assert t.allclose(apart, packed, atol=1e-4)


def test_nothing_is_copied():
    x, weights = operands()

    def f(x, *weights):
        return t._native_multi_head_attention(x, x, x, 8, 2, *weights, None, False)[0]

    names = [str(node.target) for node in make_fx(f)(x, *weights).graph.nodes]
    assert "aten._scaled_dot_product_flash_attention_for_cpu.default" in names
    assert not [name for name in names if "clone" in name or "copy" in name]
    assert sum("mm" in name for name in names) == 2


def test_gradients_of_the_operator():
    x, weights = operands(1, 3, 4)
    leaves = [tensor.double().requires_grad_() for tensor in (x, *weights)]

    def f(x, *weights):
        return t._native_multi_head_attention(x, x, x, 4, 2, *weights, None, False)[0]

    assert t.autograd.gradcheck(f, leaves)


ERRORS = [
    ("t._native_multi_head_attention(x[0], x, x, 8, 2, *w)", "expected 3-D `query`, got 2-D"),
    ("t._native_multi_head_attention(x, x[0], x, 8, 2, *w)", "expected 3-D `key`, got 2-D"),
    ("t._native_multi_head_attention(x, x, x[0], 8, 2, *w)", "expected 3-D `value`, got 2-D"),
    ("t._native_multi_head_attention(x, x, x, 6, 2, *w)", "embed_dim 6 didn't match last dim"),
    ("t._native_multi_head_attention(x, x, x[:, :2], 8, 2, *w)", "shapes to match"),
    ("t._native_multi_head_attention(x, x, x, 8, 3, *w)", "must divide evenly"),
    ("t._native_multi_head_attention(x, x, x, 8, 2, w[1], *w[1:])", "expected 2-D `qkv_weight`"),
    ("t._native_multi_head_attention(x, x, x, 8, 2, w[2], *w[1:])", "first dim to be 3x embed"),
    ("t._native_multi_head_attention(x, x, x, 8, 2, w[0], w[0], *w[2:])", "1-D `qkv_bias`"),
    ("t._native_multi_head_attention(x, x, x, 8, 2, w[0], w[3], *w[2:])", "first dim of query"),
    ("t._native_multi_head_attention(x, x, x, 8, 2, *w, m)", "Mask Type should be defined"),
    ("t._native_multi_head_attention(x, x, x, 8, 2, *w, m, mask_type=5)", "should be 0 .src_mask."),
    ("t._native_multi_head_attention(x, x, x, 8, 2, *w, m, mask_type=0)", "mask_type == 0"),
    ("t._native_multi_head_attention(x, x, x, 8, 2, *w, m[:1], mask_type=1)", "mask_type == 1"),
    ("t._native_multi_head_attention(x, x, x, 8, 2, *w, m, mask_type=2)", "mask_type == 2"),
]


@pytest.mark.parametrize("call,message", ERRORS)
def test_errors(call, message):
    x, w = operands()
    with pytest.raises(RuntimeError, match=message):
        eval(call, {"t": t, "x": x, "w": w, "m": padding(2, 5)})


@pytest.mark.parametrize("call", [call for call, _ in ERRORS])
def test_pytorch_refuses_the_same(torch, call):
    x, w = operands()
    ours = {"x": x, "m": padding(2, 5)}
    theirs = {name: torch.tensor(value.tolist()) for name, value in ours.items()}
    theirs |= {"t": torch, "w": [torch.tensor(weight.tolist()) for weight in w]}
    message = dict(ERRORS)[call]
    with pytest.raises(RuntimeError, match=message):
        eval(call, theirs)


# ---- the encoder's layer ----
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("mask", ["none", "padding", "later", "both"])
def test_the_layer_is_that_of_training(taken, norm_first, activation, mask):
    t.manual_seed(0)
    layer = nn.TransformerEncoderLayer(
        8, 2, 16, activation=activation, norm_first=norm_first, batch_first=True
    ).eval()
    x = t.randn(3, 7, 8)
    names = {"attn_mask": "src_mask", "key_padding_mask": "src_key_padding_mask"}
    settings = {names[key]: value for key, value in MASKS[mask](3, 2, 7).items()}
    expected = without_fused(layer, x, **settings)
    with t.no_grad():
        got = layer(x, **settings)
    assert taken == ["_transformer_encoder_layer_fwd"]
    assert t.allclose(got, expected, atol=1e-5)


def test_a_mask_of_numbers_is_added(taken):
    t.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    x, bias = t.randn(3, 7, 8), t.randn(7, 7)
    expected = without_fused(layer, x, src_mask=bias)
    with t.no_grad():
        assert t.allclose(layer(x, src_mask=bias), expected, atol=1e-5)
    assert taken == ["_transformer_encoder_layer_fwd"]


def test_hooks_see_the_parts_of_the_layer(taken):
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    seen = []
    x = t.randn(3, 7, 8)
    with t.no_grad():
        with layer.linear1.register_forward_hook(lambda m, args, result: seen.append(m)):
            layer(x)
        assert seen == [layer.linear1] and "_transformer_encoder_layer_fwd" not in taken
        layer(x)
    assert len(seen) == 1 and taken[-1] == "_transformer_encoder_layer_fwd"


def test_the_encoder_of_such_layers(taken):
    t.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2).eval()
    x, mask = t.randn(3, 7, 8), padding(3, 7)
    expected = without_fused(encoder, x, src_key_padding_mask=mask)
    with t.no_grad():
        got = encoder(x, src_key_padding_mask=mask)
    assert taken == ["_transformer_encoder_layer_fwd"] * 2
    assert t.allclose(got, expected.masked_fill(mask[:, :, None], 0), atol=1e-5)


# Lengths of two sequences of five, and settings of the encoder.
PADDED = [
    ([[0, 0, 0, 0, 0], [0, 0, 0, 1, 1]], {}),
    ([[0, 0, 0, 1, 1], [0, 1, 1, 1, 1]], {}),
    ([[0, 0, 0, 0, 0], [1, 0, 0, 0, 1]], {}),
    ([[0, 0, 0, 0, 0], [0, 1, 0, 0, 1]], {"mask_check": False}),
    ([[0, 0, 0, 0, 0], [0, 0, 0, 1, 1]], {"enable_nested_tensor": False}),
    ([[0, 0, 0, 0, 0], [0, 0, 0, 1, 1]], {"norm": True}),
]


@pytest.mark.parametrize("mode", ["eval", "grad", "train", "mask"])
@pytest.mark.parametrize("rows, settings", PADDED)
def test_padded_places_of_an_encoder_are_pytorchs(torch, rows, settings, mode):
    """Zero where PyTorch leaves them out, else what its operators make of them."""

    def result(lib, state):
        layer = lib.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        norm = lib.nn.LayerNorm(8) if settings.get("norm") else None
        encoder = lib.nn.TransformerEncoder(layer, 2, **{**settings, "norm": norm})
        if state is not None:
            encoder.load_state_dict({k: lib.tensor(v.tolist()) for k, v in state.items()})
        elif norm is not None:
            lib.nn.init.normal_(norm.bias)
        encoder.train(mode == "train")
        x = lib.arange(80).reshape(2, 5, 8).sin()
        padding = lib.tensor(rows, dtype=lib.bool)
        kwargs = {"mask": lib.zeros(5, 5, dtype=lib.bool)} if mode == "mask" else {}
        with lib.set_grad_enabled(mode in ("grad", "train")):
            return encoder(x, src_key_padding_mask=padding, **kwargs), encoder

    torch.manual_seed(0)
    expected, theirs = result(torch, None)
    got, _ = result(t, theirs.state_dict())
    expected = t.tensor(expected.tolist())
    assert t.allclose(got, expected, atol=1e-5)


def test_a_sequence_that_is_padding_only_is_zeros():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)
    with t.no_grad():
        padding = t.tensor([[False, False], [True, True]])
        got = encoder.eval()(t.randn(2, 2, 8), src_key_padding_mask=padding)
    assert got[0].all() and not got[1].any()


@pytest.mark.parametrize("norm_first", [False, True])
def test_values_of_pytorch(torch, norm_first):
    torch.manual_seed(0)
    settings = {"batch_first": True, "norm_first": norm_first, "activation": "gelu"}
    theirs = torch.nn.TransformerEncoderLayer(8, 2, 16, **settings).eval()
    ours = nn.TransformerEncoderLayer(8, 2, 16, **settings).eval()
    ours.load_state_dict({k: t.tensor(v.tolist()) for k, v in theirs.state_dict().items()})
    x = torch.randn(3, 7, 8)
    with torch.no_grad():
        expected = theirs(x)
    with t.no_grad():
        got = ours(t.tensor(x.tolist()))
    assert t.allclose(got, t.tensor(expected.tolist()), atol=1e-5)
