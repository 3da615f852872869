"""Backward hooks of modules in captured programs.

A call of a module with such hooks ties its inputs and results to them by two nodes of the graph.
Where a backend runs the graph as it is, the hooks are called by autograd. Where it traces the
derivative, each call of a hook is one operator of the backward's graph, which calls the hook with
the values of that run: hooks may do anything, and are called in the order of a plain run.
"""

import itertools
import threading
import weakref

import taeda
from taeda import _C, Tensor
from taeda._C._dynamo import as_operator, bound_to, set_undivided
from taeda.fx.effects import EffectType, register_effect
from taeda.library import custom_op
from taeda.utils import hooks

__all__ = ["SUBSTITUTES"]

_is_fake = _C._fx.is_fake
_BackwardHook = hooks.BackwardHook
_check_count = hooks._check_count


class _ModuleHooks:
    """The backward hooks of a module, which graphs are bound to."""

    def __init__(self, module, user_hooks, user_pre_hooks):
        self.module = module
        self.user_hooks = [_Hook(self, hook) for hook in user_hooks]
        self.user_pre_hooks = [_Hook(self, hook) for hook in user_pre_hooks]
        self.traced = []  # calls in graphs of backwards, which find them by number
        self._running = threading.local()

    def begin(self):
        """A new call of the module: what its inputs and results have in common."""
        self._running.call = _BackwardHook(self.module, self.user_hooks, self.user_pre_hooks)
        return self._running.call

    def end(self):
        call = self._running.__dict__.pop("call", None)
        return self.begin() if call is None else call


class _Hook:
    """One hook, called with values or while a derivative is traced."""

    def __init__(self, owner, hook):
        self.owner, self.hook = weakref.ref(owner), hook

    def __call__(self, module, *groups):
        if not any(_is_fake(grad) for group in groups for grad in group):
            return self.hook(module, *groups)
        call = _TracedCall(self.hook, module, groups)
        self.owner().traced.append(call)
        given = [grad for group in groups for grad in group if grad is not None]
        if all(grad is None for grad in groups[0]):
            _call_hook_for_effect(given, call.number)
            return None
        return call.spread(_call_hook(given, call.number), 0)


_numbers = itertools.count()
_traced_calls = weakref.WeakValueDictionary()


class _TracedCall:
    """A call of a hook in a graph: which arguments are gradients, and which None."""

    def __init__(self, hook, module, groups):
        self.hook, self.module = hook, module
        self.places = [tuple(grad is not None for grad in group) for group in groups]
        self.number = next(_numbers)
        _traced_calls[self.number] = self

    def spread(self, grads, which):
        """The gradients with None in between, as hooks get them."""
        rest = iter(grads)
        return tuple(next(rest) if is_there else None for is_there in self.places[which])

    def run(self, given):
        """What the hook gives for these gradients."""
        # The graph may use their memory again, and the hook may keep them.
        rest = iter([grad.clone() for grad in given])
        groups = [
            tuple(next(rest) if is_there else None for is_there in group) for group in self.places
        ]
        return self.hook(self.module, *groups)


def _replaced(call, given, gave):
    """The gradients behind a hook, in memory of their own and laid out as the graph expects."""
    first = [grad for grad in call.spread(given, 0) if grad is not None]
    if gave is None:
        return [grad.clone() for grad in first]
    is_pre = len(call.places) == 1
    hook, what = ("Backward pre hook", "grad_output") if is_pre else ("Backward hook", "grad_input")
    _check_count(hook, what, gave, call.places[0])
    results = []
    for grad, is_there in zip(gave, call.places[0]):
        if not is_there:
            continue
        own = first[len(results)]
        result = taeda.empty_like(own)
        results.append(result.zero_() if grad is None else result.copy_(grad))
    return results


@custom_op("taeda::_call_module_hook", mutates_args=())
def _call_hook(grads: list[Tensor], number: int) -> list[Tensor]:
    call = _traced_calls[number]
    return _replaced(call, grads, call.run(grads))


@_call_hook.register_fake
def _(grads, number):
    count = sum(_traced_calls[number].places[0])
    return [taeda.empty_like(grad) for grad in grads[:count]]


@custom_op("taeda::_call_module_hook_for_effect", mutates_args=())
def _call_hook_for_effect(grads: list[Tensor], number: int) -> None:
    gave = _traced_calls[number].run(grads)
    if gave is not None and any(grad is not None for grad in gave):
        raise RuntimeError(
            "Backward hook for Modules where no input requires gradient should always return None "
            "or None for all gradients."
        )


@_call_hook_for_effect.register_fake
def _(grads, number):
    return None


for _name in ("_call_module_hook", "_call_module_hook_for_effect"):
    register_effect(f"taeda::{_name}", EffectType.ORDERED)


# ---- nodes of the graph ----


def _spread(count, places, tensors):
    values = [None] * count
    for place, tensor in zip(places, tensors):
        values[place] = tensor
    return tuple(values)


def _ties_of(module, user_hooks, user_pre_hooks):
    """Two functions that tie tensors to hooks: a call's inputs, and its results."""
    hooks = _ModuleHooks(module, user_hooks, user_pre_hooks)

    def tie_inputs(count, places, tensors):
        new = hooks.begin().setup_input_hook(_spread(count, places, tensors))
        return [new[place] for place in places]

    def tie_results(num_inputs, has_input_grads, count, places, tensors):
        call = hooks.end()
        call.n_inputs, call.has_input_grads = num_inputs, has_input_grads
        new = call.setup_output_hook(_spread(count, places, tensors))
        return [new[place] for place in places]

    return tie_inputs, tie_results


# ---- what captures enter ----


class _CapturedHook:
    """BackwardHook of a captured call."""

    def __init__(self, tie_inputs, tie_results):
        self.tie_inputs, self.tie_results = tie_inputs, tie_results
        self.has_input_grads = False

    def setup_input_hook(self, args):
        self.num_inputs = len(args)
        new = _tied(args, self.tie_inputs, ())
        self.has_input_grads = new is not None
        return args if new is None else new

    def setup_output_hook(self, result):
        results = result if isinstance(result, tuple) else (result,)
        new = _tied(results, self.tie_results, (self.num_inputs, self.has_input_grads))
        set_undivided(False)
        if new is None:
            return result
        return new if isinstance(result, tuple) else new[0]


def _tied(values, tie, settings):
    """The values with their tensors tied to hooks; None where no gradient will flow."""
    places = tuple(i for i, value in enumerate(values) if isinstance(value, Tensor))
    if not (_C.is_grad_enabled() and any(values[i].requires_grad for i in places)):
        return None
    given = tuple(values[i] for i in places)
    tensors = as_operator(tie, (*settings, len(values), places, given), {})
    new = list(values)
    for place, tensor in zip(places, tensors):
        new[place] = tensor
    return tuple(new) if type(values) is tuple else type(values)(*new)


def _backward_hook(module, user_hooks, user_pre_hooks):
    args = (module, tuple(user_hooks), tuple(user_pre_hooks))
    set_undivided(True)  # the backward of one graph has the gradients of results and inputs
    return _CapturedHook(*bound_to(_ties_of, args))


SUBSTITUTES = {_BackwardHook: _backward_hook}
