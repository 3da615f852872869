"""A loop: `while_loop(cond_fn, body_fn, carried_inputs)`."""

from taeda import _C
from taeda.fx.control_flow._capture import TRACER, ControlFlow, closed_graphs, record
from taeda.fx.control_flow._functions import (
    FlatFunction,
    UserFunction,
    check_operands,
    check_same_metadata,
    is_batched,
    is_integer,
    is_unknown,
    unknown_integer,
)
from taeda.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["while_loop", "while_loop_op", "while_loop_stack_output_op"]

_Tensor = _C.Tensor


class WhileLoopOp(ControlFlow):
    """`while_loop_op(cond_fn, body_fn, carried_inputs, additional_inputs)`.

    Both functions get the carried inputs and the additional ones, which stay as they are.
    """

    graph_names = ("while_loop_cond_graph", "while_loop_body_graph")

    def __init__(self, name="while_loop"):
        super().__init__(name)

    def __call__(self, cond_fn, body_fn, carried_inputs, additional_inputs=(), /):
        for name, values in (
            ("carried_inputs", carried_inputs),
            ("additional_inputs", additional_inputs),
        ):
            if not isinstance(values, (tuple, list)):
                raise RuntimeError(f"{name} must be a tuple or list, got {type(values)}")
            check_operands(values)
        return super().__call__(cond_fn, body_fn, carried_inputs, additional_inputs)

    def closed(self, tracer, cond_fn, body_fn, carried_inputs, additional_inputs):
        _check_integers(carried_inputs)
        operands = (*_any_integers(carried_inputs), *additional_inputs)
        graphs, captured = closed_graphs(tracer, (cond_fn, body_fn), operands)
        return *graphs, carried_inputs, (*additional_inputs, *captured)


while_loop_op = WhileLoopOp()
# The same loop, of which it gives the carried values after each step, stacked; without a step the
# inputs, stacked.
while_loop_stack_output_op = WhileLoopOp("while_loop_stack_output")


def while_loop(cond_fn, body_fn, carried_inputs):
    """Replaces the inputs by `body_fn(*inputs)` while `cond_fn(*inputs)`.

    Inputs are tensors and integers, possibly nested; `body_fn` returns as many, of the same shapes
    and dtypes. `cond_fn` returns a boolean or a boolean tensor of no dimensions. Under vmap with a
    condition for each example the loop runs until all are done, and an example that is done keeps
    its values.
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"carried_inputs must be a tuple or list, got {type(carried_inputs)}")
    leaves, spec = tree_flatten(tuple(carried_inputs))
    check_operands(leaves)
    flat_body = FlatFunction("while_loop", _Body(body_fn, len(carried_inputs)), spec)
    flat_cond = _Condition(cond_fn, spec)
    return tree_unflatten(while_loop_op(flat_cond, flat_body, tuple(leaves), ()), spec)


class _Condition(UserFunction):
    def __init__(self, cond_fn, spec):
        super().__init__("while_loop")
        self.cond_fn = cond_fn
        self.spec = spec

    def call(self, *leaves):
        return self.cond_fn(*tree_unflatten(leaves, self.spec))


class _Body:
    """The user's function, whose result must be a tuple of the right length."""

    def __init__(self, body_fn, length):
        self.body_fn = body_fn
        self.length = length

    def __call__(self, *carried):
        result = self.body_fn(*carried)
        if not isinstance(result, (tuple, list)):
            raise AssertionError(f"body_fn should return a tuple but got {type(result)}")
        if len(result) != self.length:
            raise AssertionError(
                "body_fn should return the same number of elements as carried_inputs, got "
                f"{len(result)} vs {self.length}"
            )
        return tuple(result)


@while_loop_op.py_impl("CompositeExplicitAutograd")
def _run(cond_fn, body_fn, carried_inputs, additional_inputs):
    carried = tuple(carried_inputs)
    if any(map(is_integer, carried)) and any(map(is_unknown, carried)):
        carried = _any_integers(carried)
        _checked(cond_fn(*carried, *additional_inputs))
        return _any_integers(_step(body_fn, carried, additional_inputs))
    pred = _checked(cond_fn(*carried, *additional_inputs))
    if is_unknown(pred):
        return _step(body_fn, carried, additional_inputs)
    if not is_batched(pred) and not pred:
        # What is returned aliases no input, as after an iteration.
        return tuple(x.clone() if isinstance(x, _Tensor) else x for x in carried)
    while not is_batched(pred):
        if not pred:
            return carried
        carried = _step(body_fn, carried, additional_inputs)
        pred = _checked(cond_fn(*carried, *additional_inputs))
    return _run_batched(pred, cond_fn, body_fn, carried, additional_inputs)


@while_loop_stack_output_op.py_impl("CompositeExplicitAutograd")
def _run_stacked(cond_fn, body_fn, carried_inputs, additional_inputs):
    carried, steps = tuple(carried_inputs), []
    pred = _checked(cond_fn(*carried, *additional_inputs))
    if is_unknown(pred):
        count = unknown_integer(pred, 1, is_size=True)
        step = _step(body_fn, carried, additional_inputs)
        return tuple(x.new_empty((count, *x.shape)) for x in step)
    while pred:
        carried = _step(body_fn, carried, additional_inputs)
        steps.append(carried)
        pred = _checked(cond_fn(*carried, *additional_inputs))
    return tuple(_C.stack(column) for column in zip(*(steps or [carried])))


def _any_integers(carried):
    """The state with integers that stand for those of any step, where tensors have no values."""
    like = next((x for x in carried if is_unknown(x)), None)
    return tuple(
        unknown_integer(like) if is_integer(x) and like is not None else x for x in carried
    )


def _check_integers(carried):
    if any(map(is_integer, carried)) and not any(map(is_unknown, carried)):
        raise NotImplementedError(
            "while_loop: integers that change can be recorded on fake tensors only "
            "(tracing_mode='fake' or 'symbolic'); or carry a tensor of no dimensions"
        )


def _run_batched(active, cond_fn, body_fn, carried, additional_inputs):
    """The rest of a loop from where the condition differs between examples."""
    while _C._values_of(active).any():
        stepped = _step(body_fn, carried, additional_inputs)
        carried = tuple(_C.where(active, new, old) for new, old in zip(stepped, carried))
        active = _checked(cond_fn(*carried, *additional_inputs)) & active
    return carried


def _step(body_fn, carried, additional_inputs):
    result = tuple(body_fn(*carried, *additional_inputs))
    check_same_metadata(result, carried, "body_fn_output", "carried_inputs")
    return result


def _checked(pred):
    is_scalar = isinstance(pred, _Tensor) and pred.dim() == 0 and pred.dtype is _C.bool
    if not is_scalar and not isinstance(pred, (bool, _C.SymBool)):
        raise RuntimeError(
            f"cond_fn must return a boolean scalar tensor or a boolean but got {pred}"
        )
    return pred


# ---- as one call ----
def _recording(op):
    def record_loop(tracer, cond_fn, body_fn, carried_inputs, additional_inputs):
        inputs = tuple(carried_inputs), tuple(additional_inputs)
        result = op(cond_fn, body_fn, *inputs)
        named = zip(op.graph_names, (cond_fn, body_fn))
        return record(tracer, op, named, lambda a, b: (a, b, *inputs), result)

    return record_loop


for _op in (while_loop_op, while_loop_stack_output_op):
    _op.py_impl(TRACER)(_recording(_op))
