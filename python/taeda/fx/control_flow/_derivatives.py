"""Derivatives of the functions that control-flow operators take."""

import itertools

from taeda import _C
from taeda.autograd.grad_mode import enable_grad
from taeda.utils._pytree import tree_leaves

_Tensor = _C.Tensor


def is_differentiable(value):
    """Whether a value may have a gradient."""
    return isinstance(value, _Tensor) and (value.is_floating_point() or value.is_complex())


def vjp_of(fn, num_operands):
    """(*operands, *cotangents) -> the gradients of those operands that may have one.

    `fn` is computed again for it. Operands that it does not use get zeros. Where gradients are
    recorded, those of the result are too.
    """

    def backward(*args):
        is_recorded = _C.is_grad_enabled()
        operands, cotangents = args[:num_operands], args[num_operands:]
        with enable_grad():
            inputs = [_as_input(o, is_recorded) for o in operands]
            results = tree_leaves(fn(*inputs))
        pairs = [
            (r, c)
            for r, c in zip(results, cotangents)
            if isinstance(r, _Tensor) and r.requires_grad and c is not None
        ]
        wanted = [x for x in inputs if is_differentiable(x)]
        return _gradients(pairs, wanted, is_recorded)

    return backward


def _as_input(value, keeps_history):
    """Something of its own to differentiate by."""
    if not is_differentiable(value):
        return value
    if keeps_history and value.requires_grad:
        # No view with sizes, which a trace of real tensors would write down.
        return value.permute(list(range(value.ndim)))
    return _C._mark_requires_grad(value.detach())


def jvp_of(fn, num_operands):
    """(*operands, *tangents) -> the tangents of the results of `fn` that may have one.

    There is a tangent for each operand that may have one.
    """

    def forward(*args):
        from taeda.func.derivatives import jvp

        operands, tangents = args[:num_operands], args[num_operands:]

        def of_differentiable(*primals):
            results = fn(*merged(primals, operands))
            return tuple(r for r in tree_leaves(results) if is_differentiable(r))

        primals = tuple(o for o in operands if is_differentiable(o))
        return jvp(of_differentiable, primals, tuple(tangents))[1]

    return forward


def tangents_of(tangents, operands):
    """The tangents that jvp_of takes, zeros where there are none."""
    pairs = [(t, o) for t, o in zip(tangents, operands) if is_differentiable(o)]
    return [_C.zeros_like(o) if t is None else t for t, o in pairs]


def merged(values, operands):
    """The operands with these values for those that may have a gradient."""
    given = iter(values)
    return [next(given) if is_differentiable(o) else o for o in operands]


def scatter(gradients, operands):
    """Gradients as vjp_of gives them, with None for operands that have none."""
    return _placed(gradients, [is_differentiable(o) for o in operands])


def _placed(values, places):
    given = iter(values)
    return [next(given) if is_place else None for is_place in places]


def split_at(values, sizes):
    """Tuples of these sizes, one behind the other."""
    given = iter(values)
    return [tuple(itertools.islice(given, size)) for size in sizes]


# ---- what an autograd.Function of an operator keeps ----
def keep(ctx, operands, results):
    """Keeps the operands, tensors and numbers, for `kept`, and the kinds of the results."""
    tensors = [x if isinstance(x, _Tensor) else None for x in operands]
    ctx.numbers = [None if isinstance(x, _Tensor) else x for x in operands]
    ctx.has_tangent = [is_differentiable(r) for r in results]
    ctx.save_for_backward(*tensors)
    ctx.save_for_forward(*tensors)


def kept(ctx):
    """The operands."""
    return [n if x is None else x for x, n in zip(ctx.saved_tensors, ctx.numbers)]


def result_tangents(ctx, tangents):
    """Tangents as jvp_of gives them, with None for results that have none."""
    return tuple(_placed(tangents, ctx.has_tangent))


def _gradients(pairs, wanted, is_recorded):
    from taeda.autograd import grad

    found = [None] * len(wanted)
    if pairs and wanted:
        results, cotangents = zip(*pairs)
        found = grad(results, wanted, cotangents, allow_unused=True, create_graph=is_recorded)
    return tuple(_C.zeros_like(x) if g is None else g for x, g in zip(wanted, found))
