"""A loop over slices that carries a state: `scan(combine_fn, init, xs)`."""

from taeda import _C
from taeda._functorch.vmap import vmap
from taeda._higher_order_ops._capture import TRACER, ControlFlow, closed_graphs, record
from taeda._higher_order_ops._functions import (
    check_operands,
    check_same_metadata,
    is_differentiable,
    is_unknown,
    repeated,
    scatter,
    vjp_of,
)
from taeda.autograd.function import Function
from taeda.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

__all__ = ["scan", "scan_op"]

_Tensor = _C.Tensor


class ScanOp(ControlFlow):
    """`scan_op(combine_fn, init, xs, additional_inputs)` over the first dimension of `xs`.

    `combine_fn(*carry, *slices, *additional_inputs)` returns the next carry followed by the
    outputs; the result is the last carry followed by the stacked outputs.
    """

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


class _Combine:
    """The user's function on flat arguments; `out_spec` tells how an output is nested."""

    def __init__(self, combine_fn, init_spec, xs_spec):
        self.combine_fn = combine_fn
        self.init_spec = init_spec
        self.xs_spec = xs_spec
        self.out_spec = None

    def __call__(self, *args):
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


@scan_op.py_impl("CompositeExplicitAutograd")
def _run(combine_fn, init, xs, additional_inputs):
    carry, outputs = tuple(init), []
    if is_unknown(xs[0]):
        # All steps look the same, and their number may be a symbol.
        result = tree_leaves(combine_fn(*carry, *(x.select(0, 0) for x in xs), *additional_inputs))
        stacked = [repeated(y, xs[0].shape[0]) for y in result[len(init) :]]
        return (*result[: len(init)], *stacked)
    for i in range(xs[0].shape[0]):
        slices = [x.select(0, i) for x in xs]
        result = tree_leaves(combine_fn(*carry, *slices, *additional_inputs))
        carry = tuple(result[: len(init)])
        outputs.append(result[len(init) :])
    stacked = [_C.stack(column) for column in zip(*outputs)]
    return (*carry, *stacked)


# ---- as one call ----
@scan_op.py_impl(TRACER)
def _record(tracer, combine_fn, init, xs, additional_inputs):
    result = scan_op(combine_fn, init, xs, additional_inputs)
    inputs = list(init), list(xs), additional_inputs
    named = [("scan_combine_graph", combine_fn)]
    return record(tracer, scan_op, named, lambda a: (a, *inputs), result)


class _Scan(Function):
    """The operator with a gradient: a scan for the carries again, and one backwards."""

    @staticmethod
    def forward(combine_fn, num_init, num_xs, *operands):
        return scan_op(combine_fn, *_split(operands, num_init, num_xs))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.combine_fn, ctx.num_init, ctx.num_xs, *operands = inputs
        ctx.numbers = [None if isinstance(x, _Tensor) else x for x in operands]
        ctx.save_for_backward(*(x if isinstance(x, _Tensor) else None for x in operands))

    @staticmethod
    def backward(ctx, *grads):
        operands = [n if x is None else x for x, n in zip(ctx.saved_tensors, ctx.numbers)]
        init, xs, additional = _split(operands, ctx.num_init, ctx.num_xs)
        of_carry, of_outputs = grads[: len(init)], grads[len(init) :]
        carries = _carries(ctx.combine_fn, init, xs, additional)
        backwards = _Backwards(ctx.combine_fn, init, xs, additional)
        found = backwards.run(carries, xs, additional, of_carry, of_outputs)
        return (None, None, None, *found)

    @staticmethod
    def vmap(info, in_dims, combine_fn, num_init, num_xs, *operands):
        init, xs, additional = _split(operands, num_init, num_xs)
        dims = _split(in_dims[3:], num_init, num_xs)
        init = [_batched_first(x, d, info.batch_size) for x, d in zip(init, dims[0])]
        xs = [x if d is None else x.movedim(d, 1) for x, d in zip(xs, dims[1])]
        dims_of_slices = [None if d is None else 0 for d in dims[1]]
        step = vmap(
            combine_fn,
            in_dims=(*(0 for _ in init), *dims_of_slices, *dims[2]),
            randomness=info.randomness,
        )
        result = scan_op(step, init, xs, additional)
        return result, tuple(0 if i < num_init else 1 for i in range(len(result)))


def _batched_first(x, dim, size):
    return x.expand(size, *x.shape) if dim is None else x.movedim(dim, 0)


def _split(operands, num_init, num_xs):
    end = num_init + num_xs
    return tuple(operands[:num_init]), tuple(operands[num_init:end]), tuple(operands[end:])


def _carries(combine_fn, init, xs, additional):
    """The carry that each step started from."""

    def step(*args):
        result = tree_leaves(combine_fn(*args))
        return (*result[: len(init)], *(c.clone() for c in args[: len(init)]))

    return scan_op(step, init, xs, additional)[len(init) :]


class _Backwards:
    """A scan from the last step to the first that carries gradients."""

    def __init__(self, combine_fn, init, xs, additional):
        self.vjp = vjp_of(combine_fn, len(init) + len(xs) + len(additional))
        self.sizes = len(init), len(xs), len(additional)
        self.init, self.xs, self.additional = init, xs, additional

    def run(self, carries, xs, additional, of_carry, of_outputs):
        sums = [_C.zeros_like(x) for x in additional if is_differentiable(x)]
        start = [g for g, c in zip(of_carry, self.init) if is_differentiable(c)]
        slices = [x.flip([0]) for x in (*carries, *xs, *of_outputs)]
        found = scan_op(self.step, (*start, *sums), slices, additional)
        num_start = len(start)
        of_init, rest = found[:num_start], found[num_start:]
        of_additional, of_xs = rest[: len(sums)], rest[len(sums) :]
        return [
            *scatter(of_init, self.init),
            *scatter([g.flip([0]) for g in of_xs], self.xs),
            *scatter(of_additional, self.additional),
        ]

    def step(self, *args):
        num_init, num_xs, num_additional = self.sizes
        num_start = sum(map(is_differentiable, self.init))
        num_sums = sum(map(is_differentiable, self.additional))
        given = iter(args)
        of_carry = [next(given) for _ in range(num_start)]
        sums = [next(given) for _ in range(num_sums)]
        carry_and_x = [next(given) for _ in range(num_init + num_xs)]
        rest = list(given)
        of_outputs = rest[: len(rest) - num_additional]
        additional = rest[len(rest) - num_additional :]
        cotangents = (*scatter(of_carry, self.init), *of_outputs)
        found = self.vjp(*carry_and_x, *additional, *cotangents)
        of_c, of_x = found[:num_start], found[num_start : len(found) - num_sums]
        added = [a + b for a, b in zip(sums, found[len(found) - num_sums :])]
        return (*of_c, *added, *of_x)


@scan_op.py_autograd_impl
def _with_gradient(combine_fn, init, xs, additional_inputs):
    return _Scan.apply(combine_fn, len(init), len(xs), *init, *xs, *additional_inputs)
