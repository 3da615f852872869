"""What transforms and gradients do with a recorded scan: other scans."""

from taeda import _C
from taeda.autograd.function import Function
from taeda.func.batching import vmap
from taeda.fx.control_flow._derivatives import (
    is_differentiable,
    jvp_of,
    keep,
    kept,
    result_tangents,
    scatter,
    split_at,
    tangents_of,
    vjp_of,
)
from taeda.fx.control_flow._functions import batched_slices
from taeda.fx.control_flow.sequential_scan import scan_op
from taeda.utils._pytree import tree_leaves


class _Scan(Function):
    """The operator with a gradient: a scan for the carries again, and one backwards."""

    @staticmethod
    def forward(combine_fn, num_init, num_xs, *operands):
        return scan_op(combine_fn, *_split(operands, num_init, num_xs))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.combine_fn, ctx.num_init, ctx.num_xs, *operands = inputs
        keep(ctx, operands, output)

    @staticmethod
    def backward(ctx, *grads):
        init, xs, additional = _split(kept(ctx), ctx.num_init, ctx.num_xs)
        of_carry, of_outputs = grads[: len(init)], grads[len(init) :]
        carries = _carries(ctx.combine_fn, init, xs, additional)
        backwards = _Backwards(ctx.combine_fn, init, xs, additional)
        found = backwards.run(carries, xs, additional, of_carry, of_outputs)
        return (None, None, None, *found)

    @staticmethod
    def jvp(ctx, *tangents):
        parts = _split(kept(ctx), ctx.num_init, ctx.num_xs)
        moved = _split(tangents[3:], ctx.num_init, ctx.num_xs)
        moved = [tangents_of(given, of) for given, of in zip(moved, parts)]
        sizes = [len(part) for pair in zip(parts, moved) for part in pair]
        jvp = jvp_of(ctx.combine_fn, sum(len(part) for part in parts))

        def step(*args):
            carry, of_carry, x, of_x, given, of_given = split_at(args, sizes)
            following = tree_leaves(ctx.combine_fn(*carry, *x, *given))[: len(carry)]
            found = jvp(*carry, *x, *given, *of_carry, *of_x, *of_given)
            return (*following, *found)

        doubled = [(*part, *of) for part, of in zip(parts, moved)]
        return result_tangents(ctx, scan_op(step, *doubled)[ctx.num_init :])

    @staticmethod
    def vmap(info, in_dims, combine_fn, num_init, num_xs, *operands):
        init, xs, additional = _split(operands, num_init, num_xs)
        dims = _split(in_dims[3:], num_init, num_xs)
        init = [_batched_first(x, d, info.batch_size) for x, d in zip(init, dims[0])]
        xs, of_slices = batched_slices(xs, dims[1])
        of_operands = (*(0 for _ in init), *of_slices, *dims[2])
        step = vmap(combine_fn, in_dims=of_operands, randomness=info.randomness)
        result = scan_op(step, init, xs, additional)
        return result, tuple(0 if i < num_init else 1 for i in range(len(result)))


def _batched_first(x, dim, size):
    return x.expand(size, *x.shape) if dim is None else x.movedim(dim, 0)


def _split(operands, num_init, num_xs):
    return split_at(operands, (num_init, num_xs, len(operands) - num_init - num_xs))


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
        num_outputs = len(args) - num_start - num_sums - sum(self.sizes)
        sizes = num_start, num_sums, num_init + num_xs, num_outputs, num_additional
        of_carry, sums, carry_and_x, of_outputs, additional = split_at(args, sizes)
        cotangents = (*scatter(of_carry, self.init), *of_outputs)
        found = self.vjp(*carry_and_x, *additional, *cotangents)
        num_slices = len(found) - num_start - num_sums
        of_c, of_x, of_additional = split_at(found, (num_start, num_slices, num_sums))
        return (*of_c, *(a + b for a, b in zip(sums, of_additional)), *of_x)


@scan_op.py_autograd_impl
def _with_gradient(combine_fn, init, xs, additional_inputs):
    return _Scan.apply(combine_fn, len(init), len(xs), *init, *xs, *additional_inputs)
