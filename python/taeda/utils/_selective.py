"""Selective checkpointing: results of chosen operators are kept, the others computed again.

Two dispatch modes share a table. The one around the forward asks the policy about every operator
call and keeps the results it chooses; the one around the recomputation hands them out, call by
call, in place of running the operator.
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
# Stand in the table for calls that are made again, and for results already handed out.
_RECOMPUTE = object()
_CONSUMED = object()
_MISMATCH = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend "
    "on global state that changed between forward and backward."
)


class CheckpointPolicy(enum.Enum):
    """What to do with an operator's results; MUST_ says that nobody else may decide otherwise."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


class SelectiveCheckpointContext:
    """First argument of a policy: the results of the call it decides on."""

    def __init__(self, *, is_recompute, op_output=None):
        self.is_recompute = is_recompute
        self.op_output = op_output


class _Kept:
    """A result and the version it had."""

    def __init__(self, value):
        is_tensor = isinstance(value, _C.Tensor)
        # An alias without history: the original would own the graph that owns this table.
        self.value = value.detach() if is_tensor else value
        self.version = self.value._version if is_tensor else None

    def get(self, allow_mutation):
        if not allow_mutation and self.version is not None and self.value._version != self.version:
            raise RuntimeError(
                "Tensor cached during selective activation checkpoint has been mutated"
            )
        return self.value


class _CallCounter(TorchDispatchMode):
    """Numbers the calls of each operator, so that those of two runs can be matched."""

    def __init__(self, table):
        self.table = table
        self.counts = defaultdict(int)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in SAC_IGNORED_OPS:
            return func(*args, **kwargs)
        index = self.counts[func]
        self.counts[func] += 1
        return self.take(func, index, args, kwargs)

    @classmethod
    def ignore_compile_internals(cls):
        return True


class _Keeping(_CallCounter):
    """Around the forward."""

    def __init__(self, policy, table):
        super().__init__(table)
        self.policy = policy

    def take(self, func, index, args, kwargs):
        result = func(*args, **kwargs)
        context = SelectiveCheckpointContext(is_recompute=False, op_output=result)
        policy = self.policy(context, func, *args, **kwargs)
        is_kept = policy is True or policy in (
            CheckpointPolicy.MUST_SAVE,
            CheckpointPolicy.PREFER_SAVE,
        )
        self.table[func][index] = tree_map(_Kept, result) if is_kept else _RECOMPUTE
        return result


class _HandingOut(_CallCounter):
    """Around the recomputation."""

    def __init__(self, table, allow_mutation):
        super().__init__(table)
        self.allow_mutation = allow_mutation

    def __enter__(self):
        self.counts.clear()
        return super().__enter__()

    def take(self, func, index, args, kwargs):
        calls = self.table.get(func)
        if calls is None:
            raise RuntimeError(
                f"{func} encountered during backward but not found in storage. {_MISMATCH}"
            )
        if index not in calls:
            raise RuntimeError(
                f"{func} invocation index {index} encountered during backward but not found in "
                f"storage. {_MISMATCH}"
            )
        entry = calls[index]
        if entry is _RECOMPUTE:
            return func(*args, **kwargs)
        if entry is _CONSUMED:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any "
                "region computed under selective activation checkpoint."
            )
        calls[index] = _CONSUMED
        return tree_map(lambda kept: kept.get(self.allow_mutation), entry)


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
    table = defaultdict(dict)
    return _Keeping(policy, table), _HandingOut(table, allow_cache_entry_mutation)
