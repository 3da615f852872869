"""Functions of scores and masks: calls over all places at once, and their combinations."""

import inspect
from enum import Enum

from taeda import _C
from taeda.func import vmap


class _ModificationType(Enum):
    """What a function modifies, told by its number of arguments."""

    SCORE_MOD = 1
    MASK_MOD = 2
    UNKNOWN = 3


def _get_mod_type(fn):
    """Five arguments without a default are those of a score_mod, four those of a mask_mod."""
    parameters = inspect.signature(fn).parameters.values()
    count = sum(
        p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        for p in parameters
    )
    kinds = {5: _ModificationType.SCORE_MOD, 4: _ModificationType.MASK_MOD}
    return kinds.get(count, _ModificationType.UNKNOWN)


def _identity(score, batch, head, token_q, token_kv):
    return score


def noop_mask(batch, head, token_q, token_kv):
    """The mask that lets everything through."""
    return batch.new_ones((), dtype=_C.bool)


def over_places(fn, prefix=()):
    """The function over all batches, heads, queries and keys, given as four ranges.

    `prefix` has the dimensions of arguments before these.
    """
    for place in (3, 2, 1, 0):
        in_dims = [None] * 4
        in_dims[place] = 0
        fn = vmap(fn, in_dims=(*prefix, *in_dims))
    return fn


def ranges(sizes, device):
    """The numbers below each size."""
    return tuple(_C.arange(size, device=device) for size in sizes)


def _check_callable(mask_mods):
    if not all(callable(mod) for mod in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")


def or_masks(*mask_mods):
    """The mask that lets through what any of these does."""
    _check_callable(mask_mods)

    def or_mask(b, h, q_idx, kv_idx):
        result = b.new_zeros((), dtype=_C.bool)
        for mod in mask_mods:
            result = result | mod(b, h, q_idx, kv_idx)
        return result

    return or_mask


def and_masks(*mask_mods):
    """The mask that lets through what all of these do."""
    _check_callable(mask_mods)

    def and_mask(b, h, q_idx, kv_idx):
        result = b.new_ones((), dtype=_C.bool)
        for mod in mask_mods:
            result = result & mod(b, h, q_idx, kv_idx)
        return result

    return and_mask


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    """A boolean tensor (B, H, Q_LEN, KV_LEN) of a mask_mod, or of where a score_mod is finite."""
    sizes = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    device = "cpu" if device is None else device
    kind = _get_mod_type(mod_fn)
    if kind == _ModificationType.MASK_MOD:
        return over_places(mod_fn)(*ranges(sizes, device))
    if kind == _ModificationType.SCORE_MOD:
        scores = _C.zeros(sizes, device=device)
        scores = over_places(mod_fn, prefix=(0,))(scores, *ranges(sizes, device))
        return scores != float("-inf")
    raise AssertionError(f"neither a score_mod nor a mask_mod: {mod_fn}")
