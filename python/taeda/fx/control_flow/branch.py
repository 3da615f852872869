"""A branch: `cond(pred, true_fn, false_fn, operands)`."""

import warnings

from taeda import _C
from taeda._C import _fx
from taeda.fx.control_flow._capture import ControlFlow, closed_graphs
from taeda.fx.control_flow._functions import FlatFunction, UserFunction, check_operands, is_unknown
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
        examples = [graph.examples() for graph in graphs]
        _check_results(*examples)
        _check_integers(pred, *examples)
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
    leaves, spec = tree_flatten(tuple(operands))
    branches = FlatFunction("cond", true_fn, spec), FlatFunction("cond", false_fn, spec)
    if not cond_op.is_captured():
        branches = branches[0], _SecondBranch(*branches)
    results = cond_op(pred, *branches, tuple(leaves))
    specs = [branch.out_spec for branch in branches if branch.out_spec is not None]
    if not specs:
        return results  # a mode answered, and looked at neither branch
    _check_specs(*specs)
    return tree_unflatten(results, specs[0])


class _SecondBranch(UserFunction):
    """The false branch, whose results are nested like those of the true one where both run."""

    def __init__(self, first, second):
        super().__init__("cond")
        self.first = first
        self.second = second

    @property
    def out_spec(self):
        return self.second.out_spec

    def call(self, *leaves):
        results = self.second.call(*leaves)
        if self.first.out_spec is not None:
            _check_specs(self.first.out_spec, self.out_spec)
        return results


def _check_specs(spec, *others):
    for other in others:
        if other != spec:
            raise RuntimeError(
                "Unmatched output spec from torch.cond branches: true branch tree_spec "
                f"{spec} vs false branch tree_spec {other}. Expected branches to return the same "
                "pytree structure."
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


def _check_results(of_true, of_false):
    if len(of_true) != len(of_false):
        raise RuntimeError(
            "Expected to return same number of outputs but got:"
            f"\n  true branch returns {len(of_true)} item(s)"
            f"\n  false branch returns {len(of_false)} item(s)"
        )
    for a, b in zip(of_true, of_false):
        _fx.check_mergeable(a, b)


def _check_integers(pred, of_true, of_false):
    """A node stands for an integer only where that has no value."""
    for a, b in zip(of_true, of_false):
        if type(a) is int and a != b and not is_unknown(pred):
            raise NotImplementedError(
                f"cond: branches that return different integers, {a} and {b}, can be recorded on "
                "fake tensors only (tracing_mode='fake' or 'symbolic')"
            )
