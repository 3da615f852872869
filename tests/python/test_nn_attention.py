"""Tests attention: masks, functions of scores, heads; numbers are those of the definition."""

import warnings

import pytest
from under_test import NAME

import taeda as t

pytestmark = pytest.mark.skipif(NAME != "taeda", reason="PyTorch compiles flex_attention")

flex = pytest.importorskip("taeda.nn.attention.flex_attention")
attention = t.nn.attention


def causal(b, h, q_idx, kv_idx):
    return q_idx >= kv_idx


def given(heads=2, kv_heads=2, queries=5, keys=5):
    return (
        t.randn(2, heads, queries, 4),
        t.randn(2, kv_heads, keys, 4),
        t.randn(2, kv_heads, keys, 3),
    )


def expected(q, k, v, change=lambda scores: scores, scale=0.5):
    return change(q @ k.transpose(-2, -1) * scale).softmax(-1) @ v


def test_without_functions():
    q, k, v = given(queries=3)
    assert t.allclose(flex.flex_attention(q, k, v), expected(q, k, v), atol=1e-6)
    assert t.allclose(
        flex.flex_attention(q, k, v, scale=2.0), expected(q, k, v, scale=2.0), atol=1e-6
    )


def test_a_function_of_scores():
    q, k, v = given()
    slopes = t.tensor([0.5, 2.0])

    def alibi(score, b, h, q_idx, kv_idx):
        return score + slopes[h] * (kv_idx - q_idx)

    places = t.arange(5) - t.arange(5).unsqueeze(1)
    wanted = expected(q, k, v, lambda s: s + slopes.view(2, 1, 1) * places)
    assert t.allclose(flex.flex_attention(q, k, v, alibi), wanted, atol=1e-5)


def test_a_mask():
    q, k, v = given()
    mask = flex.create_block_mask(causal, None, None, 5, 5, BLOCK_SIZE=2)
    closed = ~t.ones(5, 5, dtype=t.bool).tril()
    wanted = expected(q, k, v, lambda s: s.masked_fill(closed, float("-inf")))
    assert t.allclose(flex.flex_attention(q, k, v, block_mask=mask), wanted, atol=1e-6)


def test_a_closed_query_gives_zeros():
    q, k, v = (tensor.requires_grad_() for tensor in given())
    mask = flex.create_block_mask(lambda b, h, i, j: i > j, None, None, 5, 5, BLOCK_SIZE=2)
    output, aux = flex.flex_attention(
        q, k, v, block_mask=mask, return_aux=flex.AuxRequest(lse=True, max_scores=True)
    )
    assert (output[:, :, 0] == 0).all() and (aux.lse[:, :, 0] == float("-inf")).all()
    assert aux.max_scores.shape == (2, 2, 5)
    output.sum().backward()
    assert t.isfinite(q.grad).all()


def test_groups_of_heads_share_keys():
    q, k, v = given(heads=4)
    shared = [tensor[:, [0, 0, 1, 1]] for tensor in (k, v)]
    wanted = expected(q, *shared)
    assert t.allclose(flex.flex_attention(q, k, v, enable_gqa=True), wanted, atol=1e-6)
    with pytest.raises(ValueError, match="Try setting enable_gqa=True"):
        flex.flex_attention(q, k, v)


def test_blocks_of_a_mask():
    mask = flex.create_block_mask(causal, 1, 1, 6, 6, BLOCK_SIZE=2)
    assert mask.kv_num_blocks.tolist() == [[[1, 1, 1]]]
    assert mask.full_kv_num_blocks.tolist() == [[[0, 1, 2]]]
    assert mask.q_num_blocks.tolist() == [[[1, 1, 1]]]
    assert mask.full_q_num_blocks.tolist() == [[[2, 1, 0]]]
    assert mask.to_dense().tolist() == [[[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]]
    assert mask.shape == (1, 1, 6, 6) and mask.numel() == 36
    assert abs(mask.sparsity() - 100 / 3) < 1e-6
    assert str(mask).splitlines()[2] == "██    "
    assert "mask_mod=causal" in repr(mask)


def test_a_mask_of_numbers_is_refused():
    with pytest.raises(AssertionError, match=r"mask.dtype must be torch.bool, got .*float32"):
        flex.create_block_mask(lambda b, h, q, kv: (q >= kv).float(), 1, 1, 6, 6)


def test_a_part_of_a_mask():
    mask = flex.create_block_mask(causal, 2, 3, 6, 6, BLOCK_SIZE=2)
    part = mask[0, -1]
    assert part.kv_indices.shape == (1, 1, 3, 3)
    for place, message in ((2, "index 2 is out of bounds for dimension 0 with size 2"), (-3, "-3")):
        with pytest.raises(IndexError, match=message):
            mask[place]
    q, k, v = given(queries=6, keys=6)
    with pytest.raises(RuntimeError, match="Cannot use mask_mod from a sliced BlockMask"):
        flex.flex_attention(q, k, v, block_mask=part)


def test_a_mask_of_other_lengths_is_refused():
    mask = flex.create_block_mask(causal, None, None, 6, 6, BLOCK_SIZE=2)
    with pytest.raises(ValueError, match="created for a larger length"):
        flex.flex_attention(*given(), block_mask=mask)
    output = flex.flex_attention(*given(), block_mask=mask._adjust(5, 5))
    assert output.shape == (2, 2, 5, 3)


def test_combined_masks():
    def near(b, h, q_idx, kv_idx):
        return q_idx - kv_idx < 2

    both = flex.create_mask(flex.and_masks(causal, near), None, None, 3, 3)
    assert both[0, 0].tolist() == [
        [True, False, False],
        [True, True, False],
        [False, True, True],
    ]
    either = flex.create_mask(flex.or_masks(causal, near), None, None, 3, 3)
    assert either.all()
    with pytest.raises(RuntimeError, match="All inputs should be callable mask_mods"):
        flex.and_masks(causal, 1)


def test_a_mask_of_a_function_of_scores():
    def mod(score, b, h, q_idx, kv_idx):
        return t.where(q_idx >= kv_idx, score, -float("inf"))

    mask = flex.create_mask(mod, 1, 1, 2, 2)
    assert mask[0, 0].tolist() == [[True, False], [True, True]]


def test_kinds_of_kernels():
    backend = attention.SDPBackend
    enabled = attention._cur_sdpa_kernel_backends
    before = enabled(with_priority=True)
    with attention.sdpa_kernel(backend.MATH):
        assert enabled() == [backend.MATH]
        with attention.sdpa_kernel([backend.MATH, backend.EFFICIENT_ATTENTION], set_priority=True):
            assert enabled(with_priority=True) == [backend.MATH, backend.EFFICIENT_ATTENTION]
            assert enabled() == [backend.EFFICIENT_ATTENTION, backend.MATH]
        assert enabled() == [backend.MATH]
    assert enabled(with_priority=True) == before and before[0] == backend.FLASH_ATTENTION
    with (
        pytest.raises(AssertionError, match="Backend must be an instance of SDPBackend"),
        attention.sdpa_kernel("math"),
    ):
        pass


def test_kinds_print_their_names():
    kind = attention.SDPBackend.MATH
    assert (str(kind), f"{kind}", "%s" % kind) == ("SDPBackend.MATH",) * 3
    assert repr(kind) == "<SDPBackend.MATH: 0>"
    assert int(kind) == 0 and kind != 0 and attention.SDPBackend(0) is kind


def test_warnings_of_flex_attention_come_once(monkeypatch):
    monkeypatch.setattr(flex, "_told", set())
    q = t.ones(1, 1, 2, 4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            flex.flex_attention(q, q, q, return_lse=True)
    texts = [str(w.message) for w in caught]
    assert [w.category for w in caught] == [FutureWarning, UserWarning]
    assert texts[0].startswith("return_lse is deprecated")
    assert texts[1].startswith("flex_attention called without torch.compile() - this will use an")
    assert all(w.filename == __file__ for w in caught)

    monkeypatch.setattr(flex, "_told", set())
    monkeypatch.setattr(flex, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flex.flex_attention(q, q, q)


@t.nn.attention.sdpa_kernel(t.nn.attention.SDPBackend.MATH)
def composed(q):
    return t.nn.functional.scaled_dot_product_attention(q, q, q)


def part_composed(q):
    with t.nn.attention.sdpa_kernel(t.nn.attention.SDPBackend.MATH):
        first = t.nn.functional.scaled_dot_product_attention(q, q, q)
        inside = t.nn.attention._cur_sdpa_kernel_backends()
    return first, t.nn.functional.scaled_dot_product_attention(q, q, q), inside


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_the_kernels_of_a_compiled_block(backend):
    q = t.randn(2, 2, 8, 4, requires_grad=True)
    kernels = t.nn.attention._cur_sdpa_kernel_backends()
    whole = t.compile(composed, backend=backend, fullgraph=True)
    part = t.compile(part_composed, backend=backend, fullgraph=True)
    for _ in range(2):
        t.testing.assert_close(whole(q), composed(q))
        got, expected = part(q), part_composed(q)
        t.testing.assert_close(got[:2], expected[:2])
        assert got[2] == expected[2] == [t.nn.attention.SDPBackend.MATH]
        assert t.nn.attention._cur_sdpa_kernel_backends() == kernels


def test_the_kernels_that_a_graph_was_made_with_are_guarded():
    names = []

    def compiler(graph, inputs):
        names.append([str(node.target) for node in graph.graph.nodes])
        return graph

    def attend(q):
        return t.nn.functional.scaled_dot_product_attention(q, q, q)

    q = t.randn(1, 2, 8, 4)
    compiled = t.compile(
        attend, backend=t._dynamo.backends.common.aot_autograd(fw_compiler=compiler)
    )
    compiled(q)
    with t.nn.attention.sdpa_kernel(t.nn.attention.SDPBackend.MATH):
        compiled(q)
    compiled(q)
    in_one_pass = [any("flash" in name for name in graph) for graph in names]
    assert in_one_pass == [True, False]


def test_a_compiled_block_without_a_kernel_raises():
    def attend(q):
        with t.nn.attention.sdpa_kernel(t.nn.attention.SDPBackend.EFFICIENT_ATTENTION):
            return t.nn.functional.scaled_dot_product_attention(q, q, q)

    kernels = t.nn.attention._cur_sdpa_kernel_backends()
    with pytest.raises(RuntimeError, match="No viable backend"):
        t.compile(attend)(t.randn(1, 2, 8, 4))
    assert t.nn.attention._cur_sdpa_kernel_backends() == kernels
