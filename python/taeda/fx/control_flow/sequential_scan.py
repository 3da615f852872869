"""A loop over slices that carries a state: `scan(combine_fn, init, xs)`."""

from taeda import _C
from taeda.fx.control_flow._capture import ControlFlow, closed_graphs
from taeda.fx.control_flow._functions import UserFunction, check_operands, check_same_metadata
from taeda.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["scan", "scan_op"]

_Tensor = _C.Tensor


class ScanOp(ControlFlow):
    """`scan_op(combine_fn, init, xs, additional_inputs)` over the first dimension of `xs`.

    `combine_fn(*carry, *slices, *additional_inputs)` returns the next carry followed by the
    outputs; the result is the last carry followed by the stacked outputs.
    """

    graph_names = ("scan_combine_graph",)

    def __init__(self):
        super().__init__("scan")

    def __call__(self, combine_fn, init, xs, additional_inputs=(), /):
        if not isinstance(additional_inputs, (tuple, list)):
            raise AssertionError(
                f"additional_inputs must be a tuple or list, got {type(additional_inputs)}"
            )
        check_operands(additional_inputs)
        return super().__call__(combine_fn, tuple(init), tuple(xs), tuple(additional_inputs))

    def closed(self, tracer, combine_fn, init, xs, additional_inputs):
        slices = [x.select(0, 0) for x in xs]
        operands = (*init, *slices, *additional_inputs)
        (graph,), captured = closed_graphs(tracer, (combine_fn,), operands)
        return graph, init, xs, (*additional_inputs, *captured)


scan_op = ScanOp()


def scan(combine_fn, init, xs, *, dim=0, reverse=False):
    """Runs `carry, y = combine_fn(carry, x)` for the slices `x` of `xs` along `dim`.

    Returns the last carry and the `y` stacked along `dim`. `init`, `xs` and results may be nested;
    the carry keeps structure, shapes and dtypes. `reverse` starts at the other end.
    """
    init_leaves, init_spec = tree_flatten(init)
    xs_leaves, xs_spec = tree_flatten(xs)
    if not xs_leaves:
        return init, []
    _check(combine_fn, init_leaves, xs_leaves, dim, reverse)
    dim = dim % xs_leaves[0].ndim
    body = _Combine(combine_fn, init_spec, xs_spec)
    slices = [_oriented(x, dim, reverse) for x in xs_leaves]
    results = scan_op(body, init_leaves, slices, ())
    carry, out = results[: len(init_leaves)], results[len(init_leaves) :]
    restored = [_restored(y, dim, reverse) for y in out]
    return tree_unflatten(carry, init_spec), tree_unflatten(restored, body.out_spec)


def _oriented(x, dim, reverse):
    moved = x if dim == 0 else x.movedim(dim, 0)
    return moved.flip([0]) if reverse else moved


def _restored(y, dim, reverse):
    turned = y.flip([0]) if reverse else y
    return turned.movedim(0, dim) if 0 < dim < turned.ndim else turned


def _check(combine_fn, init_leaves, xs_leaves, dim, reverse):
    if not callable(combine_fn):
        raise RuntimeError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(dim, int):
        raise RuntimeError(f"Dim must be an int, but got {type(dim)}")
    if not isinstance(reverse, bool):
        raise RuntimeError(f"Reverse must be a bool, but got {type(reverse)}")
    if not init_leaves:
        raise RuntimeError("scan() operator requires init leaves.")
    for name, leaves in (("init", init_leaves), ("xs", xs_leaves)):
        for leaf in leaves:
            if not isinstance(leaf, _Tensor):
                raise RuntimeError(f"All {name} leaves must be a Tensor but got {leaf}")
    check_scanned(xs_leaves, dim, RuntimeError)


def check_scanned(leaves, dim, error):
    """Raises unless every leaf has slices along `dim`."""
    ndim = leaves[0].ndim
    if not -ndim <= dim < ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got "
            f"{dim})"
        )
    dim %= ndim
    if any(x.ndim <= dim or x.shape[dim] == 0 for x in leaves):
        raise error(
            "All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0"
        )


class _Combine(UserFunction):
    """The user's function on flat arguments; `out_spec` tells how an output is nested."""

    def __init__(self, combine_fn, init_spec, xs_spec):
        super().__init__("scan")
        self.combine_fn = combine_fn
        self.init_spec = init_spec
        self.xs_spec = xs_spec
        self.out_spec = None

    def call(self, *args):
        count = self.init_spec.num_leaves
        carry = tree_unflatten(args[:count], self.init_spec)
        x = tree_unflatten(args[count:], self.xs_spec)
        result = self.combine_fn(carry, x)
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise RuntimeError(f"combine_fn must return a carry and an output, but got {result}")
        following, spec = tree_flatten(result[0])
        check_same_metadata(args[:count], following, "init", "carry")
        if spec != self.init_spec:
            raise RuntimeError(
                f"Expected init and carry to have same structure but got {self.init_spec} and "
                f"{spec}"
            )
        out, self.out_spec = tree_flatten(result[1])
        return (*following, *out)
