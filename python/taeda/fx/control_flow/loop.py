"""A loop: `while_loop(cond_fn, body_fn, carried_inputs)`."""

from taeda import _C
from taeda.fx.control_flow._capture import ControlFlow, closed_graphs
from taeda.fx.control_flow._functions import (
    FlatFunction,
    UserFunction,
    check_operands,
    check_same_metadata,
    is_integer,
    is_unknown,
    unknown_integer,
)
from taeda.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

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
    functions = _Condition(cond_fn, spec), _Body(body_fn, len(carried_inputs), spec)
    if _C._dynamo.is_capturing() and any(map(is_integer, leaves)):
        return tree_unflatten(_loop_on_tensors(*functions, leaves), spec)
    return tree_unflatten(while_loop_op(*functions, tuple(leaves), ()), spec)


def carried_number(value):
    """The integer that a tensor of a loop carries."""
    return value.item()


class _OnTensors(UserFunction):
    """A function of a loop whose integers are carried as tensors, which captures have nodes for."""

    def __init__(self, function, are_integers, *, is_step):
        super().__init__("while_loop")
        self.function = function
        self.are_integers = are_integers
        self.is_step = is_step

    def call(self, *leaves):
        numbers = [
            carried_number(x) if is_one else x for x, is_one in zip(leaves, self.are_integers)
        ]
        results = self.function.call(*numbers)
        return tuple(map(_as_carried, results, self.are_integers)) if self.is_step else results


def _as_carried(value, is_one):
    import taeda

    return taeda.scalar_tensor(value, dtype=_C.int64) if is_one else value


def _loop_on_tensors(condition, body, leaves):
    are_integers = [is_integer(x) for x in leaves]
    functions = (
        _OnTensors(condition, are_integers, is_step=False),
        _OnTensors(body, are_integers, is_step=True),
    )
    results = while_loop_op(*functions, tuple(map(_as_carried, leaves, are_integers)), ())
    return [carried_number(x) if is_one else x for x, is_one in zip(results, are_integers)]


class _Condition(UserFunction):
    def __init__(self, cond_fn, spec):
        super().__init__("while_loop")
        self.cond_fn = cond_fn
        self.spec = spec

    def call(self, *leaves):
        pred = self.cond_fn(*tree_unflatten(leaves, self.spec))
        is_scalar = isinstance(pred, _Tensor) and pred.dim() == 0 and pred.dtype is _C.bool
        if not is_scalar and not isinstance(pred, (bool, _C.SymBool)):
            raise RuntimeError(
                f"cond_fn must return a boolean scalar tensor or a boolean but got {pred}"
            )
        return (pred,)


class _Body(FlatFunction):
    """A step, which returns a tuple of what it carries."""

    def __init__(self, body_fn, length, spec):
        super().__init__("while_loop", body_fn, spec)
        self.length = length

    def call(self, *leaves):
        result = self.fn(*tree_unflatten(leaves, self.in_spec))
        if not isinstance(result, (tuple, list)):
            raise AssertionError(f"body_fn should return a tuple but got {type(result)}")
        if len(result) != self.length:
            raise AssertionError(
                "body_fn should return the same number of elements as carried_inputs, got "
                f"{len(result)} vs {self.length}"
            )
        following = tree_leaves(tuple(result))
        check_same_metadata(following, leaves, "body_fn_output", "carried_inputs")
        return tuple(following)


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
