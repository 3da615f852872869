"""Tests scaled_dot_product_attention: against its definition, masks, gradients, forms, errors."""

import math

import pytest
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda as t

F = t.nn.functional
ATEN = t.ops.aten


def attend(query, key, value, mask=None, is_causal=False, scale=None):
    """The definition, in double precision; a query that sees no key gives zeros."""
    query, key, value = query.double(), key.double(), value.double()
    times = query.shape[-3] // key.shape[-3]
    key = key.unsqueeze(2).expand(-1, -1, times, -1, -1).flatten(1, 2)
    value = value.unsqueeze(2).expand(-1, -1, times, -1, -1).flatten(1, 2)
    scores = query @ key.transpose(-2, -1) * (scale or 1 / math.sqrt(query.shape[-1]))
    if is_causal:
        mask = t.ones(scores.shape[-2:], dtype=t.bool).tril()
    if mask is not None and mask.dtype == t.bool:
        scores = scores.masked_fill(~mask, -math.inf)
    elif mask is not None:
        scores = scores + mask
    weights = scores.softmax(-1)
    return weights.masked_fill(weights.isnan(), 0.0) @ value


def inputs(batch, heads, shared, queries, keys, width, dtype=t.float32):
    t.manual_seed(queries * keys + width)
    shapes = (heads, queries), (shared, keys), (shared, keys)
    return [t.randn(batch, h, n, width, dtype=t.float64).to(dtype) for h, n in shapes]


# Around the sizes of panels and blocks of keys.
SIZES = [(1, 1), (3, 5), (14, 32), (33, 126), (130, 127), (64, 300), (257, 224)]
TOLERANCE = {t.float64: 1e-12, t.float32: 2e-5, t.bfloat16: 3e-2, t.float16: 4e-3}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("queries, keys", SIZES)
@pytest.mark.parametrize("is_causal", [False, True])
def test_the_definition(queries, keys, is_causal, dtype):
    arguments = inputs(2, 2, 2, queries, keys, 24, dtype)
    got = F.scaled_dot_product_attention(*arguments, is_causal=is_causal)
    assert got.dtype == dtype
    assert t.allclose(got.double(), attend(*arguments, is_causal=is_causal), atol=TOLERANCE[dtype])


def double_gradients(arguments, grad, **kwargs):
    leaves = [x.detach().double().requires_grad_() for x in arguments]
    return t.autograd.grad(attend(*leaves, **kwargs), leaves, grad.double())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("queries, keys", SIZES)
@pytest.mark.parametrize("is_causal", [False, True])
def test_the_gradients_of_the_definition(queries, keys, is_causal, dtype):
    arguments = [x.requires_grad_() for x in inputs(1, 4, 2, queries, keys, 20, dtype)]
    out = F.scaled_dot_product_attention(*arguments, is_causal=is_causal, enable_gqa=True)
    grad = t.randn(out.shape).to(dtype)
    got = t.autograd.grad(out, arguments, grad)
    for a, b in zip(got, double_gradients(arguments, grad, is_causal=is_causal)):
        scale = max(1.0, b.abs().max().item())
        assert t.allclose(a.double() / scale, b / scale, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("shape", [(40, 150), (1, 150), (40, 1), (2, 1, 40, 150), (2, 3, 40, 150)])
def test_masks_of_numbers(shape):
    arguments = [x.requires_grad_() for x in inputs(2, 3, 3, 40, 150, 16)]
    mask = t.randn(shape)
    out = F.scaled_dot_product_attention(*arguments, attn_mask=mask, scale=0.5)
    assert "Flash" in out.grad_fn.name()
    assert t.allclose(out.double(), attend(*arguments, mask=mask, scale=0.5), atol=1e-5)
    grad = t.randn(out.shape)
    for a, b in zip(
        t.autograd.grad(out, arguments, grad),
        double_gradients(arguments, grad, mask=mask, scale=0.5),
    ):
        assert t.allclose(a.double(), b, atol=1e-4)


def test_queries_that_see_no_key_give_zeros():
    arguments = [x.requires_grad_() for x in inputs(1, 2, 2, 5, 200, 8)]
    mask = t.ones(5, 200, dtype=t.bool)
    mask[2] = False
    out = F.scaled_dot_product_attention(*arguments, attn_mask=mask)
    assert not out[:, :, 2].any() and out[:, :, 3].all()
    query_grad, *others = t.autograd.grad(out.sum(), arguments)
    assert not query_grad[:, :, 2].any()
    assert all(x.isfinite().all() for x in others)


def test_a_mask_that_hides_the_first_block_of_keys():
    arguments = inputs(1, 1, 1, 3, 400, 8)
    mask = t.zeros(3, 400, dtype=t.bool)
    mask[:, 300:] = True
    got = F.scaled_dot_product_attention(*arguments, attn_mask=mask)
    assert t.allclose(got.double(), attend(*arguments, mask=mask), atol=1e-5)


def test_few_heads_are_cut_by_keys():
    """Parts of queries' gradients from several tasks add up to the whole."""
    arguments = [x.requires_grad_() for x in inputs(1, 1, 1, 70, 1000, 12)]
    out = F.scaled_dot_product_attention(*arguments)
    grad = t.randn(out.shape)
    for a, b in zip(t.autograd.grad(out, arguments, grad), double_gradients(arguments, grad)):
        assert t.allclose(a.double(), b, atol=1e-5)


def test_threads_do_not_change_a_bit():
    arguments = [x.requires_grad_() for x in inputs(2, 3, 3, 150, 260, 16)]
    results = []
    before = t.get_num_threads()
    try:
        for threads in (1, 2, 3):
            t.set_num_threads(threads)
            out = F.scaled_dot_product_attention(*arguments, is_causal=True)
            results.append([out, *t.autograd.grad(out.square().sum(), arguments)])
    finally:
        t.set_num_threads(before)
    for other in results[1:]:
        assert all(t.equal(a, b) for a, b in zip(results[0], other))


def test_heads_side_by_side_in_memory():
    query, key, value = (
        x.transpose(1, 2).contiguous().transpose(1, 2) for x in inputs(2, 3, 3, 40, 50, 8)
    )
    out = F.scaled_dot_product_attention(query, key, value)
    assert out.stride() == query.stride()
    assert t.allclose(out.double(), attend(query, key, value), atol=1e-5)


def test_which_form_is_taken():
    query, key, value = inputs(1, 2, 2, 4, 5, 8)
    choose = ATEN._fused_sdp_choice
    assert choose(query, key, value) == 1
    assert choose(query, key, value, dropout_p=0.1) == 0
    assert choose(query[0], key[0], value[0]) == 0
    assert choose(query, key, value[..., :4]) == 0
    assert choose(query, key, value, t.zeros(4, 5, requires_grad=True)) == 0
    assert choose(query, key[:, :1], value[:, :1]) == 0
    assert choose(query, key[:, :1], value[:, :1], enable_gqa=True) == 1
    assert choose(*(x.to("meta") for x in (query, key, value))) == 0


def test_traces_have_the_form_in_one_pass():
    traced = make_fx(F.scaled_dot_product_attention)(*inputs(1, 2, 2, 4, 5, 8))
    assert "_scaled_dot_product_flash_attention_for_cpu" in traced.code


def test_values_of_another_width():
    query, key, value = inputs(1, 2, 2, 4, 5, 8)
    got = F.scaled_dot_product_attention(query, key, value[..., :3])
    assert t.allclose(got.double(), attend(query, key, value)[..., :3], atol=1e-6)


def test_batches_broadcast():
    query, key, value = inputs(2, 2, 2, 4, 5, 8)
    got = F.scaled_dot_product_attention(query, key[:1], value[:1])
    expected = attend(query, key[:1].expand_as(key), value[:1].expand_as(value))
    assert t.allclose(got.double(), expected, atol=1e-6)


def test_a_mask_that_learns():
    query, key, value = (x.double() for x in inputs(1, 2, 2, 4, 5, 8))
    mask = t.randn(4, 5, dtype=t.float64, requires_grad=True)
    assert t.autograd.gradcheck(
        lambda mask: F.scaled_dot_product_attention(query, key, value, mask), (mask,)
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("is_causal", [False, True])
def test_second_gradients(is_causal):
    arguments = [x.requires_grad_() for x in inputs(1, 2, 1, 3, 4, 2, t.float64)]

    def call(*arguments):
        return F.scaled_dot_product_attention(*arguments, is_causal=is_causal, enable_gqa=True)

    assert t.autograd.gradcheck(call, arguments, check_forward_ad=True)
    assert t.autograd.gradgradcheck(call, arguments)


def test_vmap_takes_one_call():
    query, key, value = (t.randn(3, 2, 2, n, 8) for n in (4, 5, 5))
    mask = t.randn(3, 4, 5)
    got = t.func.vmap(F.scaled_dot_product_attention)(query, key, value, mask)
    for i in range(3):
        one = F.scaled_dot_product_attention(query[i], key[i], value[i], mask[i])
        assert t.allclose(got[i], one, atol=1e-6)


def test_dropout_keeps_the_mean():
    t.manual_seed(3)
    query, key, value = t.zeros(1, 1, 200, 4), t.zeros(1, 1, 50, 4), t.ones(1, 1, 50, 4)
    out = F.scaled_dot_product_attention(query, key, value, dropout_p=0.5)
    assert abs(out.mean().item() - 1) < 0.05 and out.std().item() > 0.05


def test_nothing_to_attend_to():
    query = t.ones(1, 2, 3, 4, requires_grad=True)
    key = t.ones(1, 2, 0, 4, requires_grad=True)
    out = F.scaled_dot_product_attention(query, key, key)
    assert out.shape == (1, 2, 3, 4) and not out.any()
    out.sum().backward()
    assert query.grad.shape == query.shape and key.grad.shape == key.shape


def test_errors():
    query, key, value = inputs(1, 2, 2, 4, 5, 8)
    attention = F.scaled_dot_product_attention
    with pytest.raises(RuntimeError, match="to have the same dtype, but got query\\.dtype: double"):
        attention(query.double(), key, value)
    with pytest.raises(RuntimeError, match="at least 2 dimensional, but got query\\.dim: 1"):
        attention(query[0, 0, 0], key, value)
    with pytest.raises(RuntimeError, match="Expected attn_mask dtype to be bool or float"):
        attention(query, key, value, t.zeros(4, 5, dtype=t.int64))
    with pytest.raises(RuntimeError, match="Explicit attn_mask should not be set when is_causal"):
        attention(query[0], key[0], value[0], t.zeros(4, 5), is_causal=True)
    with pytest.raises(RuntimeError, match="heads in key and value must divide"):
        attention(query[:, :1], key, value, enable_gqa=True)
    with pytest.raises(RuntimeError, match="Accept only 4 dims inputs shape"):
        ATEN._scaled_dot_product_flash_attention_for_cpu(query[0], key[0], value[0])


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("name", ["float32", "float64", "bfloat16"])
def test_values_of_pytorch(torch, name, is_causal):
    arguments = inputs(2, 4, 2, 70, 90, 16)
    theirs = [torch.tensor(x.tolist()).to(getattr(torch, name)).requires_grad_() for x in arguments]
    ours = [x.to(getattr(t, name)).requires_grad_() for x in arguments]
    results = []
    for module, leaves in ((torch, theirs), (t, ours)):
        out = module.nn.functional.scaled_dot_product_attention(
            *leaves, is_causal=is_causal, enable_gqa=True
        )
        out.sum().backward()
        results.append([out, *(x.grad for x in leaves)])
    bound = {"float32": 1e-5, "float64": 1e-12, "bfloat16": 6e-2}[name]
    for a, b in zip(*results):
        expected = t.tensor(a.double().tolist(), dtype=t.float64)
        assert t.allclose(b.double(), expected, atol=bound, rtol=bound)


# ---- switches ----
MATH, FLASH = t.nn.attention.SDPBackend.MATH, t.nn.attention.SDPBackend.FLASH_ATTENTION
sdpa_kernel = t.nn.attention.sdpa_kernel


def operators_of(*arguments):
    """The attention operators that a call runs."""
    graph = make_fx(F.scaled_dot_product_attention)(*arguments).graph
    return {node.target for node in graph.nodes if node.op == "call_function"}


def test_switches_choose_the_form():
    arguments = inputs(1, 2, 2, 5, 7, 8)
    one_pass = ATEN._scaled_dot_product_flash_attention_for_cpu.default
    expected = attend(*arguments)
    for allowed, form in ((MATH, 0), (FLASH, 1), ([MATH, FLASH], 1)):
        with sdpa_kernel(allowed):
            assert t._fused_sdp_choice(*arguments) == form
            assert (one_pass in operators_of(*arguments)) == (form == 1)
            got = F.scaled_dot_product_attention(*arguments)
        assert t.allclose(got.double(), expected, atol=2e-5)


def test_the_order_does_not_matter_on_the_cpu():
    arguments = inputs(1, 2, 2, 5, 7, 8)
    with sdpa_kernel([MATH, FLASH], set_priority=True):
        assert t._fused_sdp_choice(*arguments) == 1


def test_switches_of_the_process():
    cuda = t.backends.cuda
    arguments = inputs(1, 2, 2, 5, 7, 8)
    cuda.enable_flash_sdp(False)
    try:
        assert not cuda.flash_sdp_enabled() and cuda.math_sdp_enabled()
        assert t._fused_sdp_choice(*arguments) == 0
    finally:
        cuda.enable_flash_sdp(True)
    assert cuda.flash_sdp_enabled() and t._fused_sdp_choice(*arguments) == 1
    with pytest.raises(RuntimeError, match="set_sdp_use_math expects a bool, but got int"):
        cuda.enable_math_sdp(1)


@pytest.mark.parametrize("name", ["flash", "math", "mem_efficient", "cudnn"])
def test_every_switch_is_one_of_its_own(name):
    cuda = t.backends.cuda
    names = ("flash", "math", "mem_efficient", "cudnn")
    getattr(cuda, f"enable_{name}_sdp")(False)
    try:
        assert [getattr(cuda, f"{n}_sdp_enabled")() for n in names] == [n != name for n in names]
    finally:
        getattr(cuda, f"enable_{name}_sdp")(True)
    assert all(getattr(cuda, f"{n}_sdp_enabled")() for n in names)


@pytest.mark.parametrize("allowed", [[], [t.nn.attention.SDPBackend.EFFICIENT_ATTENTION]])
def test_no_form_is_allowed(allowed):
    arguments = inputs(1, 2, 2, 5, 7, 8)
    message = "No viable backend for scaled_dot_product_attention was found"
    with sdpa_kernel(allowed):
        with pytest.raises(RuntimeError, match=message):
            F.scaled_dot_product_attention(*arguments)
        with pytest.raises(RuntimeError, match=message):
            t._fused_sdp_choice(*arguments)
        meta = F.scaled_dot_product_attention(*(x.to("meta") for x in arguments))
        assert meta.shape == (1, 2, 5, 8)  # a device without kernels has no choice
        assert F.scaled_dot_product_attention(*(x[:0] for x in arguments)).shape == (0, 2, 5, 8)
    assert F.scaled_dot_product_attention(*arguments).shape == (1, 2, 5, 8)


def test_the_form_in_one_pass_alone_says_what_it_needs():
    query, key, value = inputs(1, 2, 2, 5, 5, 8)
    refused = (
        ((query[0], key[0], value[0]), {}, "of 4 dimensions"),
        ((query, key, value), {"dropout_p": 0.5}, "no dropout"),
        ((query, key, value[..., :3]), {}, "one last size"),
        ((query, key[:, :1], value[:, :1]), {}, "numbers of heads"),
        ((query, key.mT.contiguous().mT, value), {}, "stride 1"),
        ((query, key, value), {"attn_mask": t.ones(5, 5, requires_grad=True)}, "without gradient"),
    )
    with sdpa_kernel(FLASH):
        for arguments, settings, reason in refused:
            with pytest.raises(RuntimeError, match=f"No available kernel.*{reason}"):
                F.scaled_dot_product_attention(*arguments, **settings)


def test_the_older_scope_of_switches():
    arguments = inputs(1, 2, 2, 5, 7, 8)
    with pytest.warns(FutureWarning, match="sdpa_kernel"):
        scope = t.backends.cuda.sdp_kernel(enable_flash=False)
    with scope:
        assert t._fused_sdp_choice(*arguments) == 0
    assert t._fused_sdp_choice(*arguments) == 1


def test_masks_have_tangents():
    """Derivatives by a mask of numbers, forward as backward."""
    query, key, value = (t.randn(1, 2, 4, 8, dtype=t.float64) for _ in range(3))
    mask = t.randn(4, 4, dtype=t.float64)

    def attended(mask):
        return t.nn.functional.scaled_dot_product_attention(query, key, value, mask)

    tangent = mask.cos()
    forward = t.func.jvp(attended, (mask,), (tangent,))[1]
    step = 1e-6 * tangent
    expected = (attended(mask + step) - attended(mask - step)) / 2e-6
    assert expected.abs().max() > 0.1
    assert t.allclose(forward, expected, atol=1e-7)
