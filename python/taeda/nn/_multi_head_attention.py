"""multi_head_attention_forward: projections, masks and heads around the attention operators."""

import math
from warnings import warn

from taeda import _C
from taeda._C import _nn
from taeda.overrides import _handle_call, has_torch_function


def _require(condition, text):
    if not condition:
        raise AssertionError(text)


# ---- shapes ----
def _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads):
    """Whether there is a batch; AssertionError where the numbers of dimensions do not fit."""
    _require(
        query.dim() in (2, 3),
        "query should be unbatched 2D or batched 3D tensor but received "
        f"{query.dim()}-D query tensor",
    )
    is_batched, ndim = query.dim() == 3, query.dim()
    kind = f"For {'batched (3-D)' if is_batched else 'unbatched (2-D)'} `query`, expected "
    _require(
        key.dim() == ndim and value.dim() == ndim,
        f"{kind}`key` and `value` to be {ndim}-D but found {key.dim()}-D and {value.dim()}-D "
        "tensors respectively",
    )
    if key_padding_mask is not None:
        _require(
            key_padding_mask.dim() == ndim - 1,
            f"{kind}`key_padding_mask` to be `None` or {ndim - 1}-D but found "
            f"{key_padding_mask.dim()}-D tensor instead",
        )
    if attn_mask is not None:
        _require(
            attn_mask.dim() in (2, 3),
            f"{kind}`attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor "
            "instead",
        )
        expected = (num_heads, query.shape[0], key.shape[0])
        _require(
            is_batched or attn_mask.dim() == 2 or attn_mask.shape == expected,
            f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}",
        )
    return is_batched


# ---- masks ----
def _none_or_dtype(input):
    """The dtype of a mask that may be None."""
    if input is None:
        return None
    if isinstance(input, _C.Tensor):
        return input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _canonical_mask(mask, mask_name, other_type, other_name, target_type, check_other=True):
    """A mask as numbers that are added to scores: a boolean one is minus infinity where True."""
    if mask is None:
        return None
    is_float = mask.is_floating_point()
    _require(
        is_float or mask.dtype == _C.bool,
        f"only bool and floating types of {mask_name} are supported",
    )
    if check_other and other_type is not None and mask.dtype != other_type:
        warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type "
            "for both instead.",
            stacklevel=3,
        )
    if is_float:
        return mask
    return _C.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))


def _scores_mask(attn_mask, heads, tgt_len, src_len):
    """The mask as (1 or heads, tgt_len, src_len)."""
    if attn_mask is None:
        return None
    if attn_mask.dim() not in (2, 3):
        raise RuntimeError(f"attn_mask's dimension {attn_mask.dim()} is not supported")
    expected = (tgt_len, src_len) if attn_mask.dim() == 2 else (heads, tgt_len, src_len)
    if attn_mask.shape != expected:
        raise RuntimeError(
            f"The shape of the {attn_mask.dim()}D attn_mask is {attn_mask.shape}, but should be "
            f"{expected}."
        )
    return attn_mask.unsqueeze(0) if attn_mask.dim() == 2 else attn_mask


def _one_wider(*masks):
    """The masks with one more column, which is not masked."""
    return tuple(
        None if mask is None else _C.cat([mask, mask.new_zeros((*mask.shape[:-1], 1))], -1)
        for mask in masks
    )


# ---- projections ----
def _in_projection_packed(q, k, v, w, b=None):
    """Query, key and value by the three parts of one matrix; shared inputs in one product."""
    size = q.size(-1)
    if k is v and q is k:
        return _parts(_nn.linear(q, w, b), 3, size)
    if k is v:
        w_q, w_kv = w.split([size, 2 * size])
        b_q, b_kv = (None, None) if b is None else b.split([size, 2 * size])
        return _nn.linear(q, w_q, b_q), *_parts(_nn.linear(k, w_kv, b_kv), 2, size)
    weights = w.chunk(3)
    biases = (None,) * 3 if b is None else b.chunk(3)
    return tuple(map(_nn.linear, (q, k, v), weights, biases))


def _parts(projected, count, size):
    """The parts of the last dimension, each contiguous."""
    parts = projected.unflatten(-1, (count, size)).unsqueeze(0).transpose(0, -2)
    return tuple(parts.squeeze(-2).contiguous())


def _in_projection(q, k, v, w_q, w_k, w_v, b_q=None, b_k=None, b_v=None):
    """Query, key and value by a matrix each."""
    size = q.size(-1)
    named = (("query", q, w_q, b_q), ("key", k, w_k, b_k), ("value", v, w_v, b_v))
    for name, tensor, weight, _ in named:
        shape = (size, tensor.size(-1))
        _require(
            weight.shape == shape,
            f"expecting {name} weights shape of {shape}, but got {weight.shape}",
        )
    for name, _, _, bias in named:
        _require(
            bias is None or bias.shape == (size,),
            f"expecting {name} bias shape of {(size,)}, but got "
            f"{None if bias is None else bias.shape}",
        )
    return tuple(_nn.linear(tensor, weight, bias) for _, tensor, weight, bias in named)


def _separately(query, key, value, q_weight, k_weight, v_weight, in_proj_bias):
    for name, weight in (("q", q_weight), ("k", k_weight), ("v", v_weight)):
        _require(
            weight is not None,
            f"use_separate_proj_weight is True but {name}_proj_weight is None",
        )
    biases = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
    return _in_projection(query, key, value, q_weight, k_weight, v_weight, *biases)


def _as_heads(tensor, static, name, heads, head_dim):
    """(heads, length, head_dim): of the projection, or as it was given."""
    if static is None:
        return tensor.view(tensor.shape[0], heads, head_dim).transpose(0, 1)
    for dim, size in ((0, heads), (2, head_dim)):
        _require(
            static.size(dim) == size,
            f"expecting {name}.size({dim}) of {size}, but got {static.size(dim)}",
        )
    return static


# ---- the function ----
def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training=True,
    key_padding_mask=None,
    need_weights=True,
    attn_mask=None,
    use_separate_proj_weight=False,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights=True,
    is_causal=False,
):
    """Attention of several heads: (length, batch, features) in and out, and the weights."""
    tensors = (
        (query, key, value, in_proj_weight, in_proj_bias)
        + (bias_k, bias_v, out_proj_weight, out_proj_bias)
    )  # fmt: skip
    if has_torch_function(tensors):
        return _handle_call(multi_head_attention_forward, tensors, locals())
    is_batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not is_batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    tgt_len, bsz, embed_dim = query.shape
    heads = bsz * num_heads
    key_padding_mask, attn_mask, is_causal = _masks(
        query, key_padding_mask, attn_mask, is_causal, need_weights
    )
    _check_sizes(key, value, embed_dim, embed_dim_to_check, num_heads, use_separate_proj_weight)
    head_dim = embed_dim // num_heads
    if use_separate_proj_weight:
        q, k, v = _separately(
            query, key, value, q_proj_weight, k_proj_weight, v_proj_weight, in_proj_bias
        )
    else:
        _require(
            in_proj_weight is not None,
            "use_separate_proj_weight is False but in_proj_weight is None",
        )
        q, k, v = _in_projection_packed(query, key, value, in_proj_weight, in_proj_bias)
    attn_mask = _scores_mask(attn_mask, heads, tgt_len, key.shape[0])
    if bias_k is not None and bias_v is not None:
        _require(static_k is None, "bias cannot be added to static key.")
        _require(static_v is None, "bias cannot be added to static value.")
        k = _C.cat([k, bias_k.repeat(1, bsz, 1)])
        v = _C.cat([v, bias_v.repeat(1, bsz, 1)])
        attn_mask, key_padding_mask = _one_wider(attn_mask, key_padding_mask)
    _require(bias_k is None or bias_v is not None, "bias_k is set but bias_v is None")
    _require(bias_v is None or bias_k is not None, "bias_v is set but bias_k is None")
    q = _as_heads(q, None, "q", heads, head_dim)
    k = _as_heads(k, static_k, "static_k", heads, head_dim)
    v = _as_heads(v, static_v, "static_v", heads, head_dim)
    if add_zero_attn:
        k = _C.cat([k, k.new_zeros((heads, 1, head_dim))], dim=1)
        v = _C.cat([v, v.new_zeros((heads, 1, head_dim))], dim=1)
        attn_mask, key_padding_mask = _one_wider(attn_mask, key_padding_mask)
    attn_mask = _joined(attn_mask, key_padding_mask, bsz, num_heads, k.size(1))
    dropout_p = dropout_p if training else 0.0
    if need_weights:
        _require(
            not is_causal or attn_mask is not None,
            "FIXME: is_causal not implemented for need_weights",
        )
        output, weights = _with_weights(q, k, v, attn_mask, dropout_p)
        weights = weights.view(bsz, num_heads, tgt_len, k.size(1))
        weights = weights.mean(dim=1) if average_attn_weights else weights
        weights = weights if is_batched else weights.squeeze(0)
    else:
        output, weights = _fused(q, k, v, attn_mask, dropout_p, is_causal, bsz), None
    output = output.reshape(tgt_len * bsz, embed_dim)
    output = _nn.linear(output, out_proj_weight, out_proj_bias)
    output = output.view(tgt_len, bsz, output.size(1))
    return output if is_batched else output.squeeze(1), weights


def _masks(query, key_padding_mask, attn_mask, is_causal, need_weights):
    """The masks as numbers, and whether the operator may make the causal one itself."""
    key_padding_mask = _canonical_mask(
        key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", query.dtype
    )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
            "method `generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and key_padding_mask is None and not need_weights:
        return None, None, True
    attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, False)
    return key_padding_mask, attn_mask, is_causal and key_padding_mask is None


def _check_sizes(key, value, embed_dim, embed_dim_to_check, num_heads, is_separate):
    _require(
        embed_dim == embed_dim_to_check,
        f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed_dim}",
    )
    _require(
        embed_dim % num_heads == 0,
        f"embed_dim {embed_dim} not divisible by num_heads {num_heads}",
    )
    if is_separate:
        _require(
            key.shape[:2] == value.shape[:2],
            f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}",
        )
    else:
        _require(
            key.shape == value.shape,
            f"key shape {key.shape} does not match value shape {value.shape}",
        )


def _joined(attn_mask, key_padding_mask, bsz, num_heads, src_len):
    """The sum of the two masks."""
    if key_padding_mask is None:
        return attn_mask
    for dim, size in ((0, bsz), (1, src_len)):
        _require(
            key_padding_mask.shape[dim] == size,
            f"Expected key_padded_mask.shape[{dim}] to be {size}, but got "
            f"{key_padding_mask.shape[dim]}",
        )
    by_head = key_padding_mask.view(bsz, 1, 1, src_len).expand(-1, num_heads, -1, -1)
    by_head = by_head.reshape(bsz * num_heads, 1, src_len)
    return by_head if attn_mask is None else attn_mask + by_head


def _with_weights(q, k, v, attn_mask, dropout_p):
    """(length, heads, head_dim) and the weights of all heads."""
    q = q * math.sqrt(1.0 / float(q.size(-1)))
    k = k.transpose(-2, -1)
    scores = _C.bmm(q, k) if attn_mask is None else _C.baddbmm(attn_mask, q, k)
    weights = scores.softmax(dim=-1)
    if dropout_p > 0.0:
        weights = _C.dropout(weights, dropout_p, True)
    return _C.bmm(weights, v).transpose(0, 1), weights


def _fused(q, k, v, attn_mask, dropout_p, is_causal, bsz):
    """(length, batch, heads, head_dim) of the operator that keeps no weights."""
    from taeda.nn import functional as F

    if attn_mask is not None:
        is_shared = attn_mask.size(0) == 1 and attn_mask.dim() == 3
        attn_mask = attn_mask.unsqueeze(0) if is_shared else attn_mask.unflatten(0, (bsz, -1))
    q, k, v = (tensor.unflatten(0, (bsz, -1)) for tensor in (q, k, v))
    output = F.scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
    return output.permute(2, 0, 1, 3)
