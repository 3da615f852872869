"""Compiled flex_attention: blocks of scores against the definition that eager computes."""

import contextlib
import warnings

import pytest
from under_test import NAME

import taeda as t

pytestmark = pytest.mark.skipif(NAME != "taeda", reason="a test of Taeda's compiler")

flex = pytest.importorskip("taeda.nn.attention.flex_attention")
flex_attention = flex.flex_attention


def causal(b, h, q_idx, kv_idx):
    return q_idx >= kv_idx


def relative(score, b, h, q_idx, kv_idx):
    return score + 0.25 * (q_idx - kv_idx)


def capped(score, b, h, q_idx, kv_idx):
    return 2 * t.tanh(score / 2)


def by_head(score, b, h, q_idx, kv_idx):
    return score * (h + 1) - b * 0.5


def given(heads=2, kv_heads=2, queries=40, keys=40, dtype=t.float64, batch=2):
    generator = t.Generator().manual_seed(heads + queries)
    shapes = ((heads, queries, 8), (kv_heads, keys, 8), (kv_heads, keys, 4))
    return [
        t.randn(batch, *shape, dtype=dtype, generator=generator).requires_grad_()
        for shape in shapes
    ]


@contextlib.contextmanager
def without_definition():
    """Inside, a call of flex_attention that makes all scores at once is an error."""

    def refuse(*args):
        raise AssertionError("flex_attention was not compiled")

    kept, flex._scores = flex._scores, refuse
    try:
        yield
    finally:
        flex._scores = kept


def compiled(function, **options):
    run = t.compile(function, fullgraph=True, **options)

    def call(*tensors):
        with without_definition():
            return run(*tensors)

    return call


def outcome(function, tensors):
    """The results, and the gradients of their weighted sums."""
    tensors = [x.detach().clone().requires_grad_(x.requires_grad) for x in tensors]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = function(*tensors)
    results = t.utils._pytree.tree_leaves(results)
    results = [r for r in results if isinstance(r, t.Tensor)]
    total = sum((r * t.cos(t.arange(r.numel()).view_as(r))).nan_to_num().sum() for r in results)
    total.backward()
    return results + [x.grad for x in tensors if x.requires_grad]


def check(function, tensors, tolerance=1e-9, **options):
    wanted = outcome(function, tensors)
    found = outcome(compiled(function, **options), tensors)
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        assert t.allclose(a, b, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("score_mod", [None, relative, capped, by_head])
def test_functions_of_scores(score_mod):
    check(lambda q, k, v: flex_attention(q, k, v, score_mod), given())


@pytest.mark.parametrize("lengths", [(1, 1), (1, 300), (128, 128), (130, 257), (200, 60)])
def test_lengths(lengths):
    tensors = given(queries=lengths[0], keys=lengths[1])
    check(lambda q, k, v: flex_attention(q, k, v, relative), tensors)


@pytest.mark.parametrize("score_mod", [None, capped])
@pytest.mark.parametrize("size", [16, 128])
def test_masks(score_mod, size):
    mask = flex.create_block_mask(causal, None, None, 100, 100, device="cpu", BLOCK_SIZE=size)

    def run(q, k, v):
        return flex_attention(q, k, v, score_mod, block_mask=mask)

    check(run, given(queries=100, keys=100))


def test_a_mask_per_batch_and_head():
    def window(b, h, q_idx, kv_idx):
        return (q_idx - kv_idx).abs() <= 8 * (h + 1) + b

    mask = flex.create_block_mask(window, 2, 2, 64, 64, device="cpu", BLOCK_SIZE=16)
    check(lambda q, k, v: flex_attention(q, k, v, block_mask=mask), given(queries=64, keys=64))


def test_closed_queries_give_zeros():
    mask = flex.create_block_mask(
        lambda b, h, i, j: i > j + 20, None, None, 40, 40, device="cpu", BLOCK_SIZE=16
    )
    check(lambda q, k, v: flex_attention(q, k, v, block_mask=mask), given())
    output = compiled(lambda q, k, v: flex_attention(q, k, v, block_mask=mask))(*given())
    assert not output[:, :, :21].any()


def test_closed_blocks_are_not_computed():
    counts = t.ones(1, 1, 2, dtype=t.int32)
    columns = t.tensor([[[[0, 1], [1, 0]]]], dtype=t.int32)
    mask = flex.BlockMask.from_kv_blocks(counts, columns, BLOCK_SIZE=16, seq_lengths=(32, 32))
    q, k, v = (x.detach() for x in given(queries=32, keys=32))
    first = flex_attention(q[:, :, :16], k[:, :, :16], v[:, :, :16])
    k[:, :, 16:] = float("nan")
    output = compiled(lambda q, k, v: flex_attention(q, k, v, block_mask=mask))(q, k, v)
    assert t.allclose(output[:, :, :16], first) and output[:, :, 16:].isnan().all()


def test_lengths_that_blocks_do_not_divide_leave_no_gaps():
    mask = flex.create_block_mask(causal, None, None, 40, 40, device="cpu", BLOCK_SIZE=16)
    q, k, v = given()
    result = compiled(lambda q, k, v: flex_attention(q, k, v, block_mask=mask))(q, k, v)
    gradients = t.autograd.grad(result.sum(), (q, k, v))
    assert all(x.is_contiguous() for x in (result, *gradients))


@pytest.mark.parametrize("lengths", [(0, 5), (5, 0), (0, 0)])
def test_no_queries_and_no_keys(lengths):
    check(lambda q, k, v: flex_attention(q, k, v, relative), given(2, 2, *lengths))


def test_groups_of_heads():
    tensors = given(heads=6, kv_heads=2)
    check(lambda q, k, v: flex_attention(q, k, v, by_head, enable_gqa=True), tensors)


def test_sums_and_largest_scores():
    aux = flex.AuxRequest(lse=True)
    check(lambda q, k, v: flex_attention(q, k, v, relative, return_aux=aux), given())
    # One key: the sum is the score itself, and so is its gradient.
    check(lambda q, k, v: flex_attention(q, k, v, return_lse=True), given(keys=1))
    both = flex.AuxRequest(lse=True, max_scores=True)
    q, k, v = (x.detach() for x in given(queries=150, keys=150))
    found = compiled(lambda q, k, v: flex_attention(q, k, v, return_aux=both))(q, k, v)[1]
    wanted = flex_attention(q, k, v, return_aux=both)[1]
    assert t.allclose(found.lse, wanted.lse) and t.allclose(found.max_scores, wanted.max_scores)


def test_captured_tables_have_gradients():
    def run(q, k, v, table):
        def mod(score, b, h, q_idx, kv_idx):
            return score + table[h, q_idx - kv_idx + 39]

        return flex_attention(q, k, v, mod)

    table = t.randn(2, 79, dtype=t.float64, requires_grad=True)
    check(run, [*given(), table])


def test_captured_documents():
    documents = t.tensor([0] * 20 + [1] * 30 + [2] * 14)

    def same(b, h, q_idx, kv_idx):
        return documents[q_idx] == documents[kv_idx]

    mask = flex.create_block_mask(same, None, None, 64, 64, device="cpu", BLOCK_SIZE=16)
    check(lambda q, k, v: flex_attention(q, k, v, block_mask=mask), given(queries=64, keys=64))


def test_a_parameter_of_a_module():
    class Biased(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.slopes = t.nn.Parameter(t.tensor([0.5, 2.0], dtype=t.float64))

        def forward(self, q, k, v):
            def alibi(score, b, h, q_idx, kv_idx):
                return score + self.slopes[h] * (kv_idx - q_idx)

            return flex_attention(q, k, v, alibi)

    plain, other = Biased(), Biased()
    wanted = outcome(plain, given())
    found = outcome(compiled(other), given())
    for a, b in zip(found, wanted, strict=True):
        assert t.allclose(a, b)
    assert t.allclose(other.slopes.grad, plain.slopes.grad)


@pytest.mark.parametrize("dtype", [t.float32, t.bfloat16, t.float16])
def test_dtypes(dtype):
    tolerance = 1e-4 if dtype == t.float32 else 5e-2
    check(lambda q, k, v: flex_attention(q, k, v, relative), given(dtype=dtype), tolerance)


@pytest.mark.slow
def test_lengths_that_change():
    run = compiled(lambda q, k, v: flex_attention(q, k, v, relative), dynamic=True)
    for length in (150, 200, 333):
        tensors = given(queries=length, keys=length + 7)
        wanted = outcome(lambda q, k, v: flex_attention(q, k, v, relative), tensors)
        for a, b in zip(outcome(run, tensors), wanted, strict=True):
            assert t.allclose(a, b)


def test_wrong_calls_are_refused_as_in_eager():
    q, k, v = given()
    with pytest.raises(ValueError, match="Try setting enable_gqa=True for GQA"):
        t.compile(lambda: flex_attention(q, k[:, :1], v[:, :1]))()
