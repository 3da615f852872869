"""What transforms and gradients do with a recorded loop: other loops.

A loop with a gradient keeps what each step started from. Backward is a loop that counts down:

    counts, *ends = while_loop_stack_output(cond_fn, step, (0, *carried), additional)
    while count > 0:
        count -= 1
        grads = vjp of body_fn at starts[count]
"""

from taeda import _C
from taeda.autograd.function import Function
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
from taeda.fx.control_flow._functions import is_integer
from taeda.fx.control_flow._loop_batch import Batch
from taeda.fx.control_flow.loop import while_loop_op, while_loop_stack_output_op
from taeda.utils._pytree import tree_leaves


class _Loop(Function):
    """The loop with a gradient.

    Results are those of while_loop, then the number of steps and what each step started from, in
    stacks with a row more than steps.
    """

    @staticmethod
    def forward(cond_fn, body_fn, num_carried, *operands):
        carried, additional = operands[:num_carried], operands[num_carried:]
        functions, count = _counting(cond_fn, body_fn, carried)
        counts, *ends = while_loop_stack_output_op(*functions, (count, *carried), additional)
        # From 1 on; a single 0 without a step.
        count = (counts > 0).sum()
        last = (count - 1).clamp(min=0)
        starts = [_C.cat([x.unsqueeze(0), y]) for x, y in zip(carried, ends)]
        return (*(_row(y, last) for y in ends), count, *starts)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.cond_fn, ctx.body_fn, ctx.num_carried, *operands = inputs
        results, (count, *starts) = output[: ctx.num_carried], output[ctx.num_carried :]
        ctx.mark_non_differentiable(count)
        ctx.set_materialize_grads(False)
        ctx.sizes = ctx.num_carried, len(operands) - ctx.num_carried, 1 + len(starts)
        keep(ctx, (*operands, count, *starts), results)

    @staticmethod
    def backward(ctx, *grads):
        carried, additional, (count, *starts) = split_at(kept(ctx), ctx.sizes)
        backwards = _Backwards(ctx.body_fn, carried, additional, grads[1 + ctx.num_carried :])
        return (None, None, None, *backwards.run(count, starts, grads[: ctx.num_carried]))

    @staticmethod
    def jvp(ctx, *tangents):
        import taeda

        carried, additional, (_, *starts) = split_at(kept(ctx), ctx.sizes)
        of_carried = tangents_of(tangents[3:], carried)
        of_additional = tangents_of(tangents[3 + len(carried) :], additional)
        sizes = [len(part) for part in (carried, of_carried, additional, of_additional)]
        jvp = jvp_of(ctx.body_fn, len(carried) + len(additional))

        def cond(*args):
            now, _, given, _ = split_at(args, sizes)
            return ctx.cond_fn(*now, *given)

        def step(*args):
            now, moved, given, of_given = split_at(args, sizes)
            following = tree_leaves(ctx.body_fn(*now, *given))
            return (*following, *jvp(*now, *given, *moved, *of_given))

        doubled = (*carried, *of_carried, *additional, *of_additional)
        found = _Loop.apply(cond, step, sum(sizes[:2]), *doubled)
        _, of_results, _, of_starts = split_at(found, (*sizes[:2], 1 + sizes[0], sizes[1]))
        of_starts = result_tangents(ctx, of_starts)
        for start, of_start in zip(starts, of_starts):
            # Both loops take as many steps, which tensors without values do not tell.
            taeda._check(of_start is None or of_start.shape[0] == start.shape[0])
        return (*result_tangents(ctx, of_results), None, *of_starts)

    @staticmethod
    def vmap(info, in_dims, cond_fn, body_fn, num_carried, *operands):
        # Every example counts its own steps.
        functions, count = _counting(cond_fn, body_fn, operands)
        batch = Batch(info, *functions, 1 + num_carried, (count, *operands), (None, *in_dims[3:]))
        found = _Loop.apply(*batch.functions(), 1 + num_carried, *batch.values)
        (count, *results), _, (_, *starts) = split_at(found, (1 + num_carried, 1, 1 + num_carried))
        of_count, *of_results = batch.dims[: 1 + num_carried]
        of_starts = [None if d is None else d + 1 for d in of_results]
        return (*results, count, *starts), (*of_results, of_count, *of_starts)


def _counting(cond_fn, body_fn, operands):
    """The functions of a loop that carries the number of its steps in front, and the start."""

    def cond(count, *args):
        return cond_fn(*args)

    def step(count, *args):
        return (count + 1, *tree_leaves(body_fn(*args)))

    return (cond, step), _C.zeros((), dtype=_C.int64, device=operands[0].device)


def _row(stack, index):
    return stack.index_select(0, index.reshape(1)).squeeze(0)


class _Backwards:
    """A loop from the last step to the first that carries gradients.

    `of_starts` are gradients of what each step started from, where somebody used that: the
    gradient of a gradient does.
    """

    def __init__(self, body_fn, carried, additional, of_starts):
        self.vjp = vjp_of(body_fn, len(carried) + len(additional))
        self.carried, self.additional = carried, additional
        self.places = [i for i, c in enumerate(carried) if is_differentiable(c)]
        self.of_starts = {i: of_starts[i] for i in self.places if of_starts[i] is not None}
        num_sums = sum(map(is_differentiable, additional))
        self.sizes = (
            *(len(self.places), num_sums),
            *(len(carried), len(additional), len(self.of_starts)),
        )

    def run(self, count, starts, grads):
        sums = [_C.zeros_like(x) for x in self.additional if is_differentiable(x)]
        moved = [
            _C.zeros_like(self.carried[i]) if grads[i] is None else grads[i] for i in self.places
        ]
        moved = self.joined(moved, self.of_starts.values(), count)
        additional = (*starts, *self.additional, *self.of_starts.values())
        found = while_loop_op(self.cond, self.step, (count, *moved, *sums), additional)
        _, of_carried, of_additional = split_at(found, (1, *self.sizes[:2]))
        return [*scatter(of_carried, self.carried), *scatter(of_additional, self.additional)]

    def cond(self, count, *args):
        return count > 0

    def step(self, count, *args):
        moved, sums, starts, additional, of_starts = split_at(args, self.sizes)
        # An example of a batch that is done stays at 0.
        at = (count - 1).clamp(min=0)
        start = [_row(x, at) for x in starts]
        found = self.vjp(*start, *additional, *scatter(moved, self.carried))
        of_start, of_additional = split_at(found, self.sizes[:2])
        of_start = self.joined(of_start, of_starts, at)
        return (count - 1, *of_start, *(a + b for a, b in zip(sums, of_additional)))

    def joined(self, moved, of_starts, at):
        """Gradients of a state with those that its row has besides."""
        rows = {i: _row(g, at) for i, g in zip(self.of_starts, of_starts)}
        return [g + rows[i] if i in rows else g for i, g in zip(self.places, moved)]


@while_loop_op.py_autograd_impl
def _with_gradient(cond_fn, body_fn, carried_inputs, additional_inputs):
    if any(map(is_integer, carried_inputs)):
        raise NotImplementedError(
            "while_loop: a loop with gradients cannot be recorded with integers that change; carry "
            "a tensor of no dimensions"
        )
    operands = (*carried_inputs, *additional_inputs)
    results = _Loop.apply(cond_fn, body_fn, len(carried_inputs), *operands)
    return tuple(results[: len(carried_inputs)])


@while_loop_stack_output_op.py_autograd_impl
def _refuse(cond_fn, body_fn, carried_inputs, additional_inputs):
    raise NotImplementedError(
        "while_loop_stack_output: cannot be recorded under a transform or with gradients; "
        "supported: while_loop"
    )
