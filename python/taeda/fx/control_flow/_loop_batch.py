"""A recorded loop under vmap: a loop over the batch made of the one for an example."""

from taeda import _C
from taeda.func.batching import vmap
from taeda.func.custom_functions import (
    _RANDOMNESS,
    VmapInfo,
    _at_level,
    _batched,
    _take_apart,
    _unwrap,
)
from taeda.fx.control_flow._derivatives import split_at
from taeda.fx.control_flow._functions import is_integer
from taeda.fx.control_flow.loop import while_loop_op
from taeda.utils._pytree import tree_leaves


class Batch:
    """Values and functions of the loop over a batch.

    Where the condition differs between examples it runs until all are done, and one that is done
    keeps its values. `dims` tells where the batch is in `values`, the carried ones and the
    additional ones; None for those without.
    """

    def __init__(self, info, cond_fn, body_fn, num_carried, operands, dims):
        from taeda.fx.operator_trace import disable_proxy_modes_tracing

        self.info = info
        self.cond_fn, self.body_fn = cond_fn, body_fn
        self.num_carried = num_carried
        self.values = list(operands)
        self.dims = list(dims)
        # The functions run on the values, for nothing but where batches come from.
        with disable_proxy_modes_tracing():
            has_batch = self._with_batch()
        for i in range(num_carried):
            if has_batch[i] and self.dims[i] is None:
                self.values[i], self.dims[i] = self._expanded(self.values[i]).clone(), 0

    def functions(self):
        """The condition and the body over the batch."""
        dims = tuple(self.dims)
        own = dims[: self.num_carried]

        def over_batch(fn, out_dims):
            return vmap(fn, in_dims=dims, out_dims=out_dims, randomness=self.info.randomness)

        if not self.is_masked:
            return over_batch(self.cond_fn, None), over_batch(self._step, own)
        cond = over_batch(self.cond_fn, 0)
        return lambda *args: cond(*args).any(), over_batch(self._masked_step, own)

    def _step(self, *args):
        return tuple(tree_leaves(self.body_fn(*args)))

    def _masked_step(self, *args):
        is_active = self.cond_fn(*args)
        return tuple(_C.where(is_active, new, old) for new, old in zip(self._step(*args), args))

    def _with_batch(self):
        """Which carried values differ between examples, at some step."""
        has_batch, before = [d is not None for d in self.dims[: self.num_carried]], None
        while has_batch != before:
            after = self._results_with_batch(self.body_fn, has_batch)
            has_batch, before = [a or b for a, b in zip(has_batch, after)], has_batch
        (self.is_masked,) = self._results_with_batch(self.cond_fn, has_batch)
        return [self.is_masked or b for b in has_batch]

    def _results_with_batch(self, fn, has_batch):
        """Which results of a function differ between examples."""
        values, dims = list(self.values), list(self.dims)
        for i in range(self.num_carried):
            if has_batch[i] and dims[i] is None:
                values[i], dims[i] = self._expanded(values[i]), 0

        def run(level):
            _, found, _ = _take_apart(fn(*_batched(values, dims, level)), level)
            return [d is not None for d in found]

        return _at_level(self.info.batch_size, self.info.randomness, run)

    def _expanded(self, x):
        if is_integer(x):
            raise NotImplementedError(
                "while_loop: an integer of the state that differs between the examples of a vmap "
                "cannot be recorded; carry a tensor of no dimensions"
            )
        return x.expand(self.info.batch_size, *x.shape)


@while_loop_op.py_impl("Vmap")
def _under_vmap(level, cond_fn, body_fn, carried_inputs, additional_inputs):
    _, _, size, randomness = _C._top_level()
    operands = (*carried_inputs, *additional_inputs)
    values, dims = zip(*(_unwrap(x, level) for x in operands))
    count = len(carried_inputs)

    def run():
        if all(d is None for d in dims):
            return while_loop_op(cond_fn, body_fn, carried_inputs, additional_inputs), dims
        info = VmapInfo(size, _RANDOMNESS[randomness])
        batch = Batch(info, cond_fn, body_fn, count, values, dims)
        inputs = split_at(batch.values, (count, len(operands) - count))
        return while_loop_op(*batch.functions(), *inputs), batch.dims

    results, dims = _C._call_below_level(run)
    return tuple(_batched(results, dims, level))
