"""Attention with any function of the scores and any mask; computed here as it is defined."""

import math
from typing import NamedTuple
from warnings import warn

from taeda import _C
from taeda.compiler import is_compiling
from taeda.nn.attention._block_mask import (
    _DEFAULT_SPARSE_BLOCK_SIZE as _DEFAULT_SPARSE_BLOCK_SIZE,
)
from taeda.nn.attention._block_mask import (
    BlockMask,
    _sliced_mask_mod_error,
    create_block_mask,
)
from taeda.nn.attention._modifications import (
    _identity,
    and_masks,
    create_mask,
    noop_mask,
    or_masks,
    over_places,
    ranges,
)

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

# Set by programs that look into their functions of scores: no warning of the missing fusion.
_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = False
_told = set()


def _warn_once(message, category):
    """Warns the caller of flex_attention, once in a process."""
    if message not in _told and not is_compiling():
        _told.add(message)
        warn(message, category, stacklevel=3)


class AuxRequest(NamedTuple):
    """What flex_attention returns beside its output."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What flex_attention returned beside its output."""

    lse: _C.Tensor | None = None
    max_scores: _C.Tensor | None = None


def flex_attention(
    query,
    key,
    value,
    score_mod=None,
    block_mask=None,
    scale=None,
    enable_gqa=False,
    return_lse=False,
    kernel_options=None,
    *,
    return_aux=None,
):
    """softmax(score_mod(query @ key.T * scale)) @ value where the mask lets through.

    `score_mod(score, b, h, q_idx, kv_idx)` and the mask's `mask_mod(b, h, q_idx, kv_idx)` are
    written for one score. A query that the mask closes gives zeros. `kernel_options` are hints
    for compiled kernels.
    """
    check_call(query, key, value, block_mask, enable_gqa, return_lse, return_aux)
    if return_lse:
        _warn_once(
            "return_lse is deprecated and will be removed in v2.10. Please use "
            "return_aux=AuxRequest(lse=True) instead.",
            FutureWarning,
        )
    if not _FLEX_ATTENTION_DISABLE_COMPILE_DEBUG:
        _warn_once(
            "flex_attention called without torch.compile() - this will use an unfused "
            "implementation that materializes the full scores matrix instead of generating a "
            "fused kernel.",
            UserWarning,
        )
    scale = 1.0 / math.sqrt(query.size(-1)) if scale is None else scale
    scores = _scores(query, key, score_mod or _identity, block_mask, scale, enable_gqa)
    lse = scores.logsumexp(dim=-1)
    # A closed query has no weights: exp of minus infinity, not of a difference of infinities.
    weights = _C.exp(scores - lse.masked_fill(lse == float("-inf"), 0.0).unsqueeze(-1))
    output = (weights.to(value.dtype) @ _for_heads(value, query, enable_gqa)).to(query.dtype)
    has_most = return_aux is not None and return_aux.max_scores
    most = scores.amax(dim=-1) if has_most else None
    return chosen_results(output, lse, most, return_lse, return_aux)


def chosen_results(output, lse, most, return_lse, return_aux):
    """What a call asks for, of all that was computed."""
    if return_aux is not None:
        chosen = AuxOutput(lse if return_aux.lse else None, most if return_aux.max_scores else None)
        return output, chosen
    return (output, lse) if return_lse else output


def _for_heads(tensor, query, enable_gqa):
    """Keys or values for each batch and head of the queries, which groups may share."""
    if enable_gqa:
        shared = tensor.unsqueeze(2).expand(-1, -1, query.size(1) // tensor.size(1), -1, -1)
        tensor = shared.flatten(1, 2)
    return tensor.expand(query.size(0), -1, -1, -1)


def _scores(query, key, score_mod, block_mask, scale, enable_gqa):
    """The scores after both functions, minus infinity where the mask is closed."""
    precision = _C.float64 if query.dtype == _C.float64 else _C.float32
    key = _for_heads(key, query, enable_gqa)
    scores = (query @ key.transpose(-2, -1)).to(precision) * scale
    places = ranges(scores.shape, query.device)
    if score_mod is not _identity:
        scores = over_places(score_mod, prefix=(0,))(scores, *places).to(precision)
    if block_mask is not None and block_mask.mask_mod is not noop_mask:
        is_open = over_places(block_mask.mask_mod)(*places)
        scores = scores.masked_fill(~is_open, float("-inf"))
    return scores


def check_call(query, key, value, block_mask, enable_gqa, return_lse, return_aux):
    """Raises what a wrong call of flex_attention raises."""
    _check_shapes(query, key, value, block_mask, enable_gqa)
    if return_lse and return_aux is not None:
        raise ValueError(
            "Cannot specify both return_lse and return_aux. return_lse is deprecated, please use "
            "return_aux=AuxRequest(lse=True) instead."
        )


def _check_shapes(query, key, value, block_mask, enable_gqa):
    if query.size(-1) != key.size(-1):
        raise ValueError(
            "Expect query and key/value to have the same embedding dimension but got "
            f"E={query.size(-1)} and E={key.size(-1)}."
        )
    if any(tensor.dim() != 4 for tensor in (query, key, value)):
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    heads, kv_heads = query.size(1), key.size(1)
    if not enable_gqa and heads != kv_heads:
        raise ValueError(
            "Expect query and key/value to have the same number of heads but got "
            f"Hq={heads} and Hkv={kv_heads}. Try setting enable_gqa=True for GQA."
        )
    if heads % kv_heads != 0:
        raise ValueError(
            "Expect number of query heads to be a multiple of kv heads for GQA but got "
            f"Hq={heads} and Hkv={kv_heads}."
        )
    if block_mask is not None:
        _check_mask(query, key, block_mask)
    elif query.size(0) != key.size(0):
        raise ValueError(
            "Expect query and key/value to have the same batch size, or non-none block_mask, but "
            f"got block_mask=None, Bq={query.size(0)}, and Bkv={key.size(0)}."
        )


def _check_mask(query, key, block_mask):
    if block_mask.mask_mod is _sliced_mask_mod_error:
        raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")
    if query.size(0) != key.size(0) and block_mask.kv_num_blocks.size(0) != query.size(0):
        raise ValueError(
            "Expect query and key/value to have the same batch size, or block_mask and query to "
            f"have the same batch size, but got Bq={query.size(0)}, Bkv={key.size(0)}, "
            f"B_block_mask={block_mask.kv_num_blocks.size(0)}."
        )
    lengths = (query.size(-2), key.size(-2))
    made_for = tuple(block_mask.shape[-2:])
    if lengths != made_for:
        is_smaller = any(length > made for length, made in zip(lengths, made_for))
        hint = (
            "you likely need to create a new block mask."
            if is_smaller
            else "you can either 1. create a new block mask with the correct length, or 2. "
            "'adjust' the existing block mask to the correct length by calling "
            "block_mask._adjust(q_len, kv_len). This essentially 'crops' the block mask to the "
            "upper left corner, which does not work for all mask_mods!"
        )
        raise ValueError(
            f"block_mask was created for block_mask.shape={block_mask.shape} but got "
            f"q_len={lengths[0]} and kv_len={lengths[1]}. As the block mask was created for a "
            f"{'smaller' if is_smaller else 'larger'} length than you're using it for, {hint}"
        )
    if query.device != block_mask.kv_num_blocks.device:
        raise RuntimeError(
            "Expect q/k/v and block_mask to be on the same device but got "
            f"{query.device} and {block_mask.kv_num_blocks.device}."
        )
