"""Selective checkpointing: results of chosen operators are kept, the others computed again.

Two dispatch modes share a list of calls. The one around the forward asks the policy about every
operator call and keeps the results it chooses; the one around the recomputation hands them out,
call by call, in place of running the operator.
"""

import enum
from collections import defaultdict

from taeda import _C
from taeda._ops import OpOverload, OpOverloadPacket, ops
from taeda.utils._python_dispatch import TorchDispatchMode
from taeda.utils._pytree import tree_map

__all__ = [
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "create_selective_checkpoint_contexts",
]

# The recomputation detaches what it saves, the forward does not: such calls cannot be matched.
SAC_IGNORED_OPS = {ops.aten.detach.default}
_MISMATCH = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend "
    "on global state that changed between forward and backward."
)


class CheckpointPolicy(enum.Enum):
    """Whether an operator's results are kept or recomputed; MUST_ forbids another decision."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


# A policy may also answer with a bool.
_ANSWERS_TO_KEEP = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE, True)


class SelectiveCheckpointContext:
    """First argument of a policy: the results of the call it decides on."""

    def __init__(self, *, is_recompute, op_output=None):
        self.is_recompute = is_recompute
        self.op_output = op_output


class _Kept:
    """A result and the version it had."""

    def __init__(self, value):
        is_tensor = isinstance(value, _C.Tensor)
        # An alias without history: the original would own the graph that owns this object.
        self.value = value.detach() if is_tensor else value
        self.version = self.value._version if is_tensor else None

    def get(self, allow_mutation):
        if not allow_mutation and self.version is not None and self.value._version != self.version:
            raise RuntimeError(
                "Tensor cached during selective activation checkpoint has been mutated"
            )
        return self.value


class _Call:
    """One operator call of the forward, with its results if they are kept."""

    def __init__(self, result, is_kept):
        self.is_kept = is_kept
        self.result = tree_map(_Kept, result) if is_kept else None

    def take(self, allow_mutation):
        """The results, which are let go."""
        if self.result is None:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any "
                "region computed under selective activation checkpoint."
            )
        result, self.result = self.result, None
        return tree_map(lambda kept: kept.get(allow_mutation), result)


class _Keeping(TorchDispatchMode):
    """Around the forward: lists the calls of each operator in `calls`."""

    takes_closed_graphs = True

    def __init__(self, policy, calls):
        self.policy = policy
        self.calls = calls

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func not in SAC_IGNORED_OPS:
            context = SelectiveCheckpointContext(is_recompute=False, op_output=result)
            answer = self.policy(context, func, *args, **kwargs)
            self.calls[func].append(_Call(result, answer in _ANSWERS_TO_KEEP))
        return result


class _HandingOut(TorchDispatchMode):
    """Around the recomputation: the n-th call of an operator is the n-th of the forward."""

    takes_closed_graphs = True

    def __init__(self, calls, allow_mutation):
        self.calls = calls
        self.allow_mutation = allow_mutation
        self.counts = defaultdict(int)

    def __enter__(self):
        self.counts.clear()
        return super().__enter__()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func not in SAC_IGNORED_OPS:
            call = self._matching(func)
            if call.is_kept:
                return call.take(self.allow_mutation)
        return func(*args, **(kwargs or {}))

    def _matching(self, func):
        index = self.counts[func]
        self.counts[func] += 1
        calls = self.calls.get(func, ())
        if index < len(calls):
            return calls[index]
        which = f"{func} invocation index {index}" if calls else func
        raise RuntimeError(
            f"{which} encountered during backward but not found in storage. {_MISMATCH}"
        )


def _policy_of_list(chosen):
    for op in chosen:
        if isinstance(op, OpOverload):
            continue
        hint = (
            "Please update the OpOverloadPacket to a specific OpOverload."
            "For example, if you have `torch.ops.aten.mm`, change it to "
            "`torch.ops.aten.mm.default`."
        )
        raise ValueError(
            f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. "
            + (hint if isinstance(op, OpOverloadPacket) else "")
        )
    chosen = frozenset(chosen)

    def policy(ctx, op, *args, **kwargs):
        is_chosen = op in chosen
        return CheckpointPolicy.MUST_SAVE if is_chosen else CheckpointPolicy.PREFER_RECOMPUTE

    return policy


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    """The two contexts that `checkpoint(..., context_fn=...)` needs to keep some results.

    The policy is a function `(ctx, op, *args, **kwargs) -> CheckpointPolicy`, called in forward for
    every operator, or a list of overloads whose results are kept. Writing to a kept tensor before
    backward is an error unless `allow_cache_entry_mutation`.

        context_fn = functools.partial(create_selective_checkpoint_contexts, [ops.aten.mm.default])
        checkpoint(function, x, use_reentrant=False, context_fn=context_fn)
    """
    if isinstance(policy_fn_or_list, list):
        policy = _policy_of_list(policy_fn_or_list)
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    calls = defaultdict(list)
    return _Keeping(policy, calls), _HandingOut(calls, allow_cache_entry_mutation)
