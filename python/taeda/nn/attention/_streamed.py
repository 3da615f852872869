"""flex_attention of compiled programs: what happens to a block of scores, as functions of it.

No matrix of all scores is made, and blocks that the mask closes are left out. The blocks are run by
`higher_order::streamed_attention`; compilers see the functions as graphs.
"""

import math

from taeda import _C
from taeda.nn.attention._modifications import _identity, noop_mask, over_places

# Of queries and of keys, where no mask says otherwise. Long rows have fewer sums to bring up to a
# new largest score.
_BLOCK = (128, 512)


class Blocks:
    """A call of flex_attention by blocks: arguments of the operator, and its two steps."""

    def __init__(self, query, key, value, score_mod, block_mask, scale):
        self.operands = (query, key, value)
        self.settings = (1.0 / math.sqrt(query.size(-1)) if scale is None else float(scale),)
        sizes = _BLOCK if block_mask is None else block_mask.BLOCK_SIZE
        rows = min(sizes[0], query.size(2))
        columns = max(1, min(sizes[1], key.size(2)))  # a step has a largest score
        self.places = _places(query, rows, columns)
        self.lists = () if block_mask is None else _lists(block_mask)
        mask_mod = None if block_mask is None else block_mask.mask_mod
        score_mod = _identity if score_mod is None else score_mod
        self.full_step = _step(score_mod, None)
        self.cut_step = _step(score_mod, None if mask_mod is noop_mask else mask_mod)

    def arguments(self):
        """What the operator takes behind the steps, but for tensors from around them."""
        return self.operands, self.places, self.lists, self.settings

    def roles_of(self, tensors):
        """The number of each tensor among the places, -1 for others."""
        return tuple(
            next((i for i, place in enumerate(self.places) if place is tensor), -1)
            for tensor in tensors
        )


def _places(query, rows, columns):
    """What a step takes; of scores, largest scores and sums the values do not matter."""
    precision = _C.float64 if query.dtype == _C.float64 else _C.float32
    heads, device = query.shape[:2], query.device
    counted = [_C.arange(n, device=device) for n in (*heads, rows, columns)]
    is_inside = _C.ones(columns, dtype=_C.bool, device=device)
    floats = {"dtype": precision, "device": device}
    scores = _C.empty((*heads, rows, columns), **floats)
    largest, total = _C.empty((*heads, rows), **floats), _C.empty((*heads, rows), **floats)
    return (scores, *counted, is_inside, largest, total)


def _lists(block_mask):
    cut = (block_mask.kv_num_blocks, block_mask.kv_indices)
    if block_mask.full_kv_num_blocks is None:
        return cut
    return (*cut, block_mask.full_kv_num_blocks, block_mask.full_kv_indices)


def _step(score_mod, mask_mod):
    def step(scores, b, h, q_idx, kv_idx, is_inside, largest, total):
        if score_mod is not _identity:
            changed = over_places(score_mod, prefix=(0,))(scores, b, h, q_idx, kv_idx)
            scores = changed.to(scores.dtype)
        is_open = is_inside
        if mask_mod is not None:
            is_open = over_places(mask_mod)(b, h, q_idx, kv_idx) & is_inside
        scores = scores.masked_fill(~is_open, float("-inf"))
        most = _C.maximum(largest, scores.amax(dim=-1))
        # A closed row has no weights: exp of minus infinity, not of a difference of infinities.
        shift = most.masked_fill(most == float("-inf"), 0.0)
        weights = _C.exp(scores - shift.unsqueeze(-1))
        shrink = _C.exp(largest - shift)
        return weights, most, total * shrink + weights.sum(dim=-1), shrink

    return step
