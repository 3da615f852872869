"""A branch: `cond(pred, true_fn, false_fn, operands)`."""

from taeda import _C
from taeda._functorch.vmap import vmap
from taeda._higher_order_ops._capture import TRACER, ControlFlow, closed_graphs, num_results, record
from taeda._higher_order_ops._functions import (
    FlatFunction,
    check_operands,
    is_batched,
    is_unknown,
    scatter,
    vjp_of,
)
from taeda.autograd.function import Function
from taeda.utils._pytree import tree_all, tree_flatten, tree_unflatten

__all__ = ["cond", "cond_op"]

_Tensor = _C.Tensor


class CondOp(ControlFlow):
    """`cond_op(pred, true_fn, false_fn, operands)`; operands are tensors and integers."""

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
        return true_fn(*operands) if pred else false_fn(*operands)
    _check(pred, true_fn, false_fn, operands)
    if not cond_op.is_captured():
        return _run(pred, true_fn, false_fn, operands)
    leaves, spec = tree_flatten(tuple(operands))
    branches = FlatFunction(true_fn, spec), FlatFunction(false_fn, spec)
    results = cond_op(pred, *branches, tuple(leaves))
    return tree_unflatten(results, branches[0].out_spec)


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
        return _merge(true_fn(*operands), false_fn(*operands), lambda a, b: a)
    return true_fn(*operands) if pred else false_fn(*operands)


def _run_both(pred, true_fn, false_fn, operands):
    return _merge(true_fn(*operands), false_fn(*operands), lambda a, b: _select(pred, a, b))


def _merge(of_true, of_false, pick):
    """Picks from the results of both branches, leaf by leaf."""
    a, spec = tree_flatten(of_true)
    b, other_spec = tree_flatten(of_false)
    if spec != other_spec:
        raise RuntimeError(
            f"Unmatched output spec from torch.cond branches: true branch tree_spec {spec} vs "
            f"false branch tree_spec {other_spec}."
        )
    for x, y in zip(a, b):
        _check_mergeable(x, y)
    return tree_unflatten([pick(x, y) for x, y in zip(a, b)], spec)


def _check_mergeable(a, b):
    prefix = "When merging two branches' output in torch.cond, "
    if not isinstance(a, _Tensor) or not isinstance(b, _Tensor):
        if type(a) is not type(b) or a != b:
            raise RuntimeError(f"{prefix} expected tensors or equal values but got {a} and {b}.")
        return
    for name in ("dtype", "device", "shape"):
        x, y = getattr(a, name), getattr(b, name)
        if x != y:
            raise RuntimeError(f"{prefix} expected same {name} but got {x} and {y}.")


def _select(pred, a, b):
    return _C.where(pred.reshape(()).bool(), a, b) if isinstance(a, _Tensor) else a


# ---- as one call ----
@cond_op.py_impl(TRACER)
def _record(tracer, pred, true_fn, false_fn, operands):
    graphs = true_fn, false_fn
    counts = [num_results(graph) for graph in graphs]
    if counts[0] != counts[1]:
        raise RuntimeError(
            "Expected to return same number of outputs but got:"
            f"\n  true branch returns {counts[0]} item(s)"
            f"\n  false branch returns {counts[1]} item(s)"
        )
    result = cond_op(pred, *graphs, operands)
    named = zip(("true_graph", "false_graph"), graphs)
    return record(tracer, cond_op, named, lambda a, b: (pred, a, b, operands), result)


class _Cond(Function):
    """The operator with a gradient: the branch taken is computed again in backward."""

    @staticmethod
    def forward(pred, true_fn, false_fn, *operands):
        return cond_op(pred, true_fn, false_fn, operands)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pred, ctx.true_fn, ctx.false_fn, *operands = inputs
        ctx.is_tensor = [isinstance(x, _Tensor) for x in (pred, *operands)]
        ctx.others = [x for x in (pred, *operands) if not isinstance(x, _Tensor)]
        ctx.save_for_backward(*(x for x in (pred, *operands) if isinstance(x, _Tensor)))

    @staticmethod
    def backward(ctx, *grads):
        saved, others = iter(ctx.saved_tensors), iter(ctx.others)
        pred, *operands = [next(saved if is_one else others) for is_one in ctx.is_tensor]
        branches = [vjp_of(fn, len(operands)) for fn in (ctx.true_fn, ctx.false_fn)]
        found = cond_op(pred, *branches, (*operands, *grads))
        return (None, None, None, *scatter(found, operands))

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
