"""What captures enter in place of functions that they cannot look into.

Functions that take functions: each of these becomes a graph.
`capture_body(function, args, kwargs)` gives a module, the tensors that it takes and the result of
the call; `as_operator(function, args, kwargs)` makes a call one node of the graph.
"""

import contextlib
import operator

import taeda
import taeda.library
from taeda._C._dynamo import as_operator, capture_body
from taeda.utils import checkpoint as checkpoints
from taeda.utils._pytree import tree_map

__all__ = ["SUBSTITUTES", "with_tensors"]

SUBSTITUTES = {}
_Tensor = taeda.Tensor


def _substitute(function):
    def note(substitute):
        SUBSTITUTES[function] = substitute
        return substitute

    return note


def with_tensors(result, tensors):
    """The result of a body with these tensors in place of its own."""
    rest = iter(tensors)
    return tree_map(lambda value: next(rest) if isinstance(value, _Tensor) else value, result)


@_substitute(taeda.compiler.is_dynamo_compiling)
@_substitute(taeda.compiler.is_compiling)
def _yes():
    return True


@_substitute(taeda.compiler.is_exporting)
def _no():
    return False


# ---- random state ----

_library = taeda.library.Library("taeda", "FRAGMENT")
_DRAWS = (taeda.Tag.nondeterministic_seeded,)
_library.define("get_rng_state() -> Tensor", tags=_DRAWS)
_library.define("set_rng_state(Tensor state) -> ()", tags=_DRAWS)
_library.define("manual_seed(int seed) -> ()", tags=_DRAWS)
_library.impl("get_rng_state", taeda.get_rng_state, "CompositeExplicitAutograd")
_library.impl("set_rng_state", taeda.set_rng_state, "CompositeExplicitAutograd")


@taeda.library.impl(_library, "manual_seed", "CompositeExplicitAutograd")
def _seed(seed):
    taeda.manual_seed(seed)


@taeda.library.register_fake("taeda::get_rng_state", lib=_library)
def _state_without_values():
    return taeda.empty(taeda.get_rng_state().numel(), dtype=taeda.uint8)


@taeda.library.register_fake("taeda::manual_seed", lib=_library)
@taeda.library.register_fake("taeda::set_rng_state", lib=_library)
def _nothing(state):
    return None


@_substitute(taeda.get_rng_state)
def _get_rng_state():
    return taeda.ops.taeda.get_rng_state()


@_substitute(taeda.set_rng_state)
def _set_rng_state(new_state):
    taeda.ops.taeda.set_rng_state(new_state)


@_substitute(taeda.manual_seed)
def _manual_seed(seed):
    taeda.ops.taeda.manual_seed(operator.index(seed))
    return taeda.default_generator


@_substitute(taeda._C._DisableTorchDispatch)
def _without_modes():
    """A program that is captured has no dispatch modes."""
    return contextlib.nullcontext()


# ---- functions of functions ----

_SETTINGS = ("context_fn", "determinism_check", "debug", "early_stop", "preserve_rng_state")


@_substitute(checkpoints.checkpoint)
def _checkpoint(function, *args, use_reentrant=None, **kwargs):
    settings = {name: kwargs.pop(name) for name in _SETTINGS if name in kwargs}

    def call(*args, **kwargs):
        return function(*args, **kwargs)

    body, taken, result = capture_body(call, args, kwargs)
    settings["use_reentrant"] = bool(use_reentrant)
    tensors = as_operator(checkpoints.checkpoint, (body, *taken), settings)
    return with_tensors(result, tensors)


@_substitute(taeda.cond)
def _cond(pred, true_fn, false_fn, operands=()):
    if not isinstance(pred, _Tensor):
        return true_fn(*operands) if pred else false_fn(*operands)

    def both(*operands):
        return true_fn(*operands)

    def other(*operands):
        return false_fn(*operands)

    first, first_taken, result = capture_body(both, tuple(operands), {})
    second, second_taken, _ = capture_body(other, tuple(operands), {})
    tensors = as_operator(
        _call_cond, (pred, first, second, tuple(first_taken), tuple(second_taken)), {}
    )
    return with_tensors(result, tensors)


def _call_cond(pred, first, second, first_taken, second_taken):
    """cond of two bodies that take different tensors."""
    count = len(first_taken)
    return taeda.cond(
        pred,
        lambda *all_taken: first(*all_taken[:count]),
        lambda *all_taken: second(*all_taken[count:]),
        (*first_taken, *second_taken),
    )
