"""An inclusive scan with an associative function: `associative_scan(combine_fn, xs, dim)`.

Neighbours are combined in parallel: n slices take about 2 n combinations in 2 log2(n) calls of the
function, each on a batch of slices.
"""

from taeda import _C
from taeda.fx.control_flow._capture import ControlFlow, closed_graphs
from taeda.fx.control_flow._functions import UserFunction, check_operands, check_same_metadata
from taeda.fx.control_flow.sequential_scan import check_scanned
from taeda.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

__all__ = ["associative_scan", "associative_scan_op"]

_Tensor = _C.Tensor


class AssociativeScanOp(ControlFlow):
    """`associative_scan_op(combine_fn, xs, additional_inputs)` over the first dimension of `xs`.

    `combine_fn(*lhs, *rhs, *additional_inputs)` combines two slices.
    """

    graph_names = ("associative_scan_combine_graph",)

    def __init__(self):
        super().__init__("associative_scan")

    def __call__(self, combine_fn, xs, additional_inputs=(), /):
        if not isinstance(additional_inputs, (tuple, list)):
            raise AssertionError("additional_inputs must be a tuple.")
        check_operands(additional_inputs)
        return super().__call__(combine_fn, tuple(xs), tuple(additional_inputs))

    def closed(self, tracer, combine_fn, xs, additional_inputs):
        operands = (*(x.select(0, 0) for x in (*xs, *xs)), *additional_inputs)
        (graph,), captured = closed_graphs(tracer, (combine_fn,), operands)
        return graph, xs, (*additional_inputs, *captured)


associative_scan_op = AssociativeScanOp()


def associative_scan(combine_fn, xs, dim, reverse=False, combine_mode="pointwise"):
    """y[0] = x[0], y[i] = combine_fn(y[i - 1], x[i]) along `dim`, for an associative function.

    `xs` may be nested; `combine_fn` takes two of its structure and returns one. With
    combine_mode="pointwise" the function may only use pointwise operators, and is called on many
    slices at once as it is; with "generic" it sees one pair of slices at a time, by vmap.
    """
    leaves, spec = tree_flatten(xs)
    _check(combine_fn, leaves, dim, reverse, combine_mode)
    dim = dim % leaves[0].ndim
    moved = [x.movedim(dim, 0) for x in leaves]
    if reverse:
        moved = [x.flip([0]) for x in moved]
    combine = _Combine(combine_fn, spec, combine_mode == "pointwise")
    results = associative_scan_op(combine, moved, ())
    if reverse:
        results = [y.flip([0]) for y in results]
    return tree_unflatten([y.movedim(0, dim) for y in results], spec)


def _check(combine_fn, leaves, dim, reverse, combine_mode):
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(dim, int):
        raise ValueError(f"Dim must be an int, but got {type(dim)}")
    if not isinstance(reverse, bool):
        raise RuntimeError(f"Reverse must be a bool, but got {type(reverse)}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(
            f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}"
        )
    if not leaves:
        raise ValueError("Expected at least 1 xs leaf")
    if any(not isinstance(x, _Tensor) for x in leaves):
        raise ValueError("xs leaves must be a Tensor")
    check_scanned(leaves, dim, ValueError)


class _Combine(UserFunction):
    """The user's function on the leaves of two slices, or of two batches of slices."""

    may_alias = True

    def __init__(self, combine_fn, spec, takes_batches):
        super().__init__("associative_scan")
        self.combine_fn = combine_fn
        self.spec = spec
        self.takes_batches = takes_batches

    def call(self, *args):
        count = self.spec.num_leaves
        lhs = tree_unflatten(args[:count], self.spec)
        rhs = tree_unflatten(args[count:], self.spec)
        result = tree_leaves(self.combine_fn(lhs, rhs))
        check_same_metadata(args[:count], result, "xs", "the results of combine_fn")
        return tuple(result)
