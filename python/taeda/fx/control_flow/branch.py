"""A branch: `cond(pred, true_fn, false_fn, operands)`."""

import warnings

from taeda import _C
from taeda.autograd.function import Function
from taeda.func.batching import vmap
from taeda.fx.control_flow._capture import TRACER, ControlFlow, closed_graphs, record
from taeda.fx.control_flow._derivatives import (
    jvp_of,
    keep,
    kept,
    result_tangents,
    scatter,
    tangents_of,
    vjp_of,
)
from taeda.fx.control_flow._functions import (
    FlatFunction,
    check_operands,
    checked_function,
    is_batched,
    is_unknown,
    unknown_integer,
)
from taeda.utils._pytree import tree_all, tree_flatten, tree_unflatten

__all__ = ["cond", "cond_op"]

_Tensor = _C.Tensor


class CondOp(ControlFlow):
    """`cond_op(pred, true_fn, false_fn, operands)`; operands are tensors and integers."""

    graph_names = ("true_graph", "false_graph")

    def __init__(self):
        super().__init__("cond")

    def __call__(self, pred, true_fn, false_fn, operands, /):
        if not isinstance(operands, (tuple, list)):
            raise AssertionError(
                f"Cond operands must be a list or tuple of tensors and SymInts {operands}"
            )
        check_operands(operands)
        return super().__call__(pred, true_fn, false_fn, operands)

    def closed(self, tracer, pred, true_fn, false_fn, operands):
        graphs, captured = closed_graphs(tracer, (true_fn, false_fn), operands)
        return pred, *graphs, (*operands, *captured)


cond_op = CondOp()


def cond(pred, true_fn, false_fn, operands=()):
    """`true_fn(*operands)` if `pred`, else `false_fn(*operands)`.

    `pred` is a tensor of one element or a Python value; operands are tensors, possibly nested. A
    tracer records both branches, which must then return tensors of the same shapes and dtypes.
    Under vmap with a predicate for each example both branches run, and their results are selected
    from.
    """
    if isinstance(pred, (bool, int, float)):
        warnings.warn(
            "Pred is a Python constant. When used with torch.cond, it specializes on one of the "
            "branches. If you want torch.cond to preserve two branches, please make the predicate "
            "a boolean tensor or a SymBool.",
            UserWarning,
            stacklevel=2,
        )
        return true_fn(*operands) if pred else false_fn(*operands)
    _check(pred, true_fn, false_fn, operands)
    if not cond_op.is_captured():
        branches = checked_function("cond", true_fn), checked_function("cond", false_fn)
        return _run(pred, *branches, operands)
    leaves, spec = tree_flatten(tuple(operands))
    branches = FlatFunction("cond", true_fn, spec), FlatFunction("cond", false_fn, spec)
    results = cond_op(pred, *branches, tuple(leaves))
    specs = [branch.out_spec for branch in branches]
    if specs == [None, None]:
        return results  # a mode answered, and looked at neither branch
    if specs[0] != specs[1]:
        raise _different_specs(*specs)
    return tree_unflatten(results, specs[0])


def _different_specs(spec, other):
    return RuntimeError(
        f"Unmatched output spec from torch.cond branches: true branch tree_spec {spec} vs false "
        f"branch tree_spec {other}. Expected branches to return the same pytree structure."
    )


def _check(pred, true_fn, false_fn, operands):
    if not isinstance(pred, _Tensor) and type(pred).__name__ != "SymBool":
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, _Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)) or not tree_all(
        lambda leaf: isinstance(leaf, _Tensor), operands
    ):
        raise RuntimeError(
            "Expect operands to be a tuple of possibly nested dict/list/tuple that only consists "
            f"of tensor leaves, but got {operands}."
        )


@cond_op.py_impl("CompositeExplicitAutograd")
def _run(pred, true_fn, false_fn, operands):
    if is_batched(pred):
        return _run_both(pred, true_fn, false_fn, operands)
    if is_unknown(pred):
        return _merge(true_fn(*operands), false_fn(*operands), lambda a, b: _either(pred, a, b))
    return true_fn(*operands) if pred else false_fn(*operands)


def _run_both(pred, true_fn, false_fn, operands):
    return _merge(true_fn(*operands), false_fn(*operands), lambda a, b: _select(pred, a, b))


def _merge(of_true, of_false, pick):
    """Picks from the results of both branches, leaf by leaf."""
    a, spec = tree_flatten(of_true)
    b, other_spec = tree_flatten(of_false)
    if spec != other_spec:
        raise _different_specs(spec, other_spec)
    for x, y in zip(a, b):
        _check_mergeable(x, y)
    return tree_unflatten([pick(x, y) for x, y in zip(a, b)], spec)


_MERGING = "When merging two branches' output in torch.cond, "


def _check_mergeable(a, b):
    if isinstance(a, int) and isinstance(b, int):
        return
    if not isinstance(a, _Tensor) or not isinstance(b, _Tensor):
        if type(a) is not type(b) or a != b:
            raise RuntimeError(f"{_MERGING} expected tensors or equal values but got {a} and {b}.")
        return
    for name, x, y in (
        ("dtype", a.dtype, b.dtype),
        ("device", a.device, b.device),
        ("dim", a.dim(), b.dim()),
    ):
        if x != y:
            raise RuntimeError(f"{_MERGING} expected same {name} but got {x} and {y}.")


def _select(pred, a, b):
    if isinstance(a, int) and a != b:
        raise RuntimeError(f"{_MERGING} expected tensors or equal values but got {a} and {b}.")
    if not isinstance(a, _Tensor):
        return a
    if a.shape != b.shape:
        raise RuntimeError(f"{_MERGING} expected same shape but got {a.shape} and {b.shape}.")
    return _C.where(pred.reshape(()).bool(), a, b)


def _either(pred, a, b):
    """What may be one or the other: sizes and integers that differ are unknown between the two."""
    if not isinstance(a, _Tensor):
        return a if _is_equal(a, b) else _between(pred, a, b)
    pairs = list(zip(a.shape, b.shape))
    if all(_is_equal(x, y) for x, y in pairs):
        return a
    sizes = [x if _is_equal(x, y) else _between(pred, x, y, is_size=True) for x, y in pairs]
    return a.new_empty(sizes)


def _is_equal(x, y):
    from taeda.fx.symbolic.numbers import statically_known_true

    return x is y or statically_known_true(x == y)


def _between(pred, x, y, is_size=False):
    if type(x) is int and type(y) is int:
        return unknown_integer(pred, min(x, y), max(x, y), is_size=is_size)
    return unknown_integer(pred, 0, is_size=is_size)


# ---- as one call ----
@cond_op.py_impl(TRACER)
def _record(tracer, pred, true_fn, false_fn, operands):
    graphs = true_fn, false_fn
    examples = [graph.examples() for graph in graphs]
    _check_results(*examples)
    _check_integers(pred, *examples)
    result = cond_op(pred, *graphs, operands)
    named = zip(cond_op.graph_names, graphs)
    return record(tracer, cond_op, named, lambda a, b: (pred, a, b, operands), result)


def _check_results(of_true, of_false):
    if len(of_true) != len(of_false):
        raise RuntimeError(
            "Expected to return same number of outputs but got:"
            f"\n  true branch returns {len(of_true)} item(s)"
            f"\n  false branch returns {len(of_false)} item(s)"
        )
    for a, b in zip(of_true, of_false):
        _check_mergeable(a, b)


def _check_integers(pred, of_true, of_false):
    """A node stands for an integer only where that has no value."""
    for a, b in zip(of_true, of_false):
        if type(a) is int and a != b and not is_unknown(pred):
            raise NotImplementedError(
                f"cond: branches that return different integers, {a} and {b}, can be recorded on "
                "fake tensors only (tracing_mode='fake' or 'symbolic')"
            )


class _Cond(Function):
    """The operator with a gradient: the branch taken is computed again in backward."""

    @staticmethod
    def forward(pred, true_fn, false_fn, *operands):
        return cond_op(pred, true_fn, false_fn, operands)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pred, ctx.true_fn, ctx.false_fn, *operands = inputs
        keep(ctx, (pred, *operands), output)

    @staticmethod
    def backward(ctx, *grads):
        pred, *operands = kept(ctx)
        branches = [vjp_of(fn, len(operands)) for fn in (ctx.true_fn, ctx.false_fn)]
        found = cond_op(pred, *branches, (*operands, *grads))
        return (None, None, None, *scatter(found, operands))

    @staticmethod
    def jvp(ctx, *tangents):
        pred, *operands = kept(ctx)
        branches = [jvp_of(fn, len(operands)) for fn in (ctx.true_fn, ctx.false_fn)]
        given = tangents_of(tangents[3:], operands)
        return result_tangents(ctx, cond_op(pred, *branches, (*operands, *given)))

    @staticmethod
    def vmap(info, in_dims, pred, true_fn, false_fn, *operands):
        def over_batch(fn, dims):
            return vmap(fn, in_dims=tuple(dims), randomness=info.randomness)

        if in_dims[0] is None:
            branches = [over_batch(fn, in_dims[3:]) for fn in (true_fn, false_fn)]
            return cond_op(pred, *branches, operands), 0

        def both(pred, *operands):
            return _run_both(pred, true_fn, false_fn, operands)

        return over_batch(both, (in_dims[0], *in_dims[3:]))(pred, *operands), 0


@cond_op.py_autograd_impl
def _with_gradient(pred, true_fn, false_fn, operands):
    return _Cond.apply(pred, true_fn, false_fn, *operands)
