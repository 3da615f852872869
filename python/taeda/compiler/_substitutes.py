"""What captures enter in place of functions that they cannot look into.

Functions that take functions: each of these becomes a graph.
`capture_body(function, args, kwargs)` gives a module, the tensors that it takes and the result of
the call; `as_operator(function, args, kwargs)` makes a call one node of the graph.
"""

import taeda
from taeda import _C
from taeda._C._dynamo import as_operator, capture_body, is_symbol
from taeda.fx.control_flow._functions import FlatFunction
from taeda.fx.control_flow.branch import cond_op
from taeda.fx.control_flow.streamed_attention import streamed_attention
from taeda.nn.attention import flex_attention as flex
from taeda.nn.attention._streamed import Blocks
from taeda.utils import checkpoint as checkpoints
from taeda.utils._pytree import tree_flatten, tree_leaves, tree_map

__all__ = ["SUBSTITUTES", "with_tensors"]

SUBSTITUTES = {}
_Tensor = taeda.Tensor


def _substitute(function):
    def note(substitute):
        SUBSTITUTES[function] = substitute
        return substitute

    return note


def with_tensors(result, tensors):
    """The result of a body with these tensors in place of its own."""
    rest = iter(tensors)
    return tree_map(lambda value: next(rest) if isinstance(value, _Tensor) else value, result)


_SETTINGS = ("context_fn", "determinism_check", "debug", "early_stop", "preserve_rng_state")


@_substitute(checkpoints.checkpoint)
def _checkpoint(function, *args, use_reentrant=None, **kwargs):
    settings = {name: kwargs.pop(name) for name in _SETTINGS if name in kwargs}
    if use_reentrant is None:
        checkpoints._warn_of_default("torch.utils.checkpoint")
        use_reentrant = True
    if use_reentrant:
        checkpoints._check_reentrant(kwargs, **settings)
        checkpoints.check_backward_validity(args)
        if not checkpoints._has_gradients(args):
            with taeda.no_grad():
                return function(*args)

    def call(*args, **kwargs):
        return function(*args, **kwargs)

    body, taken, result, written = capture_body(call, args, kwargs)
    # A trace has no backward inside of backward.
    settings["use_reentrant"] = False
    given = tuple([i for i, one in enumerate(taken) if any(one is arg for arg in args)])
    if written or len(given) != len(taken):
        tensors = as_operator(_call_checkpoint, (body, given, written, *taken), settings)
    else:
        tensors = as_operator(checkpoints.checkpoint, (body, *taken), settings)
    return with_tensors(result, tensors)


def _call_checkpoint(body, given, written, *taken, **settings):
    """The checkpoint of a body that takes more than the call's arguments, which are at `given`.

    The rest it has from around, as a closure has it: it may change before the recomputation. Inside
    of another checkpoint that rest is among what the other computes again, and not held. Of
    what the body writes to, as BatchNorm does, only the first call writes there; the recomputation
    begins with copies of what was there before, and writes to them.
    """
    if _C._autograd._num_saved_tensors_hooks() > 0:
        given = range(len(taken))
    around, kept = list(taken), {}
    for place in (*given, *written):
        kept[place], around[place] = taken[place], None
    targets = {place: taken[place] for place in written}
    for place, target in targets.items():
        kept[place] = target.detach().clone().requires_grad_(target.requires_grad)

    def call(*args):
        values = dict(zip(kept, args))
        for place in written:
            values[place] = targets.pop(place) if targets else values[place].clone()
        return body(*(values.get(place, one) for place, one in enumerate(around)))

    return checkpoints.checkpoint(call, *kept.values(), **settings)


@_substitute(taeda.cond)
def _cond(pred, true_fn, false_fn, operands=()):
    if not isinstance(pred, _Tensor) and not is_symbol(pred):
        return true_fn(*operands) if pred else false_fn(*operands)

    def both(*operands):
        return true_fn(*operands)

    def other(*operands):
        return false_fn(*operands)

    first, first_taken, result, _ = capture_body(both, tuple(operands), {}, False)
    second, second_taken, other_result, _ = capture_body(other, tuple(operands), {}, False)
    if is_symbol(pred) and _looks(result) != _looks(other_result):
        return true_fn(*operands) if pred else false_fn(*operands)
    tensors = as_operator(
        _call_cond, (pred, first, second, tuple(first_taken), tuple(second_taken)), {}
    )
    return with_tensors(result, tensors)


def _looks(results):
    return [
        (tuple(x.shape), x.dtype) if isinstance(x, _Tensor) else x for x in tree_leaves(results)
    ]


def _call_cond(pred, first, second, first_taken, second_taken):
    """cond of two bodies that take different tensors."""
    if isinstance(pred, bool):  # a comparison of sizes
        return first(*first_taken) if pred else second(*second_taken)
    if is_symbol(pred) and not cond_op.is_captured():
        return first(*first_taken)  # of stand-ins: whichever it is, results look the same
    count = len(first_taken)
    operands = (*first_taken, *second_taken)  # numbers among them
    _, spec = tree_flatten(operands)
    return cond_op(
        pred,
        FlatFunction("cond", lambda *all_taken: first(*all_taken[:count]), spec),
        FlatFunction("cond", lambda *all_taken: second(*all_taken[count:]), spec),
        operands,
    )


@_substitute(flex.flex_attention)
def _flex_attention(
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
    flex.check_call(query, key, value, block_mask, enable_gqa, return_lse, return_aux)
    blocks = Blocks(query, key, value, score_mod, block_mask, scale)
    full, full_taken, _, _ = capture_body(blocks.full_step, blocks.places, {})
    cut, cut_taken, _, _ = capture_body(blocks.cut_step, blocks.places, {})
    results = as_operator(
        _call_streamed,
        (
            (full, tuple(full_taken), blocks.roles_of(full_taken)),
            (cut, tuple(cut_taken), blocks.roles_of(cut_taken)),
            *blocks.arguments(),
        ),
        {},
    )
    return flex.chosen_results(*results, return_lse, return_aux)


def _call_streamed(full, cut, operands, places, lists, settings):
    """Streamed attention with bodies that take places, by number, and other tensors, by -1."""
    others, steps = [], []
    for body, taken, roles in (full, cut):
        steps.append(_placed(body, roles, len(places) + len(others)))
        others += [tensor for tensor, role in zip(taken, roles) if role < 0]
    return streamed_attention(*steps, operands, places, tuple(others), lists, settings)


def _placed(body, roles, first):
    def step(*given):
        rest = iter(given[first:])
        return body(*(next(rest) if role < 0 else given[role] for role in roles))

    return step
