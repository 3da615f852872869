"""Checkpointing by saved-tensor hooks: what a region would save is recomputed when asked for.

While the region runs, the pack hook keeps a placeholder for every tensor that nodes save. The first
placeholder to be unpacked in a backward run calls the function again; the n-th tensor saved then
belongs to the n-th placeholder. As the hooks of nested regions nest, a tensor goes to the innermost
region, whose inputs the region around it keeps (or recomputes) in turn.
"""

import contextlib
import threading
import weakref

from taeda import _C
from taeda._sym import _check
from taeda.autograd import enable_grad
from taeda.autograd.function import Function
from taeda.autograd.graph import saved_tensors_hooks

TIP = (
    "\nTip: To see a more detailed error message, either pass `debug=True` to\n"
    "`torch.utils.checkpoint.checkpoint(...)` or wrap the code block with\n"
    "`with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):`.\n"
)

_OVERLAP = (
    "Performing two backward calls that overlap (i.e. require the same saved activation in order "
    "to compute gradients) is not allowed while under the torch.utils.checkpoint.GraphExecGroup "
    "context. "
)


class CheckpointError(RuntimeError):
    """The recomputation saved other tensors than the forward."""


class GraphExecGroup:
    """Inside, backward runs share what checkpoints recompute: each is called again once at most.

    The runs must not overlap: none may use a saved tensor that another one has used.
    """

    _entered = threading.local()

    def __enter__(self):
        if self._get_current_group() is not None:
            raise RuntimeError(
                "GraphExecGroup contexts cannot be nested. "
                f"Already inside group {self._get_current_group()}"
            )
        self._entered.group = self
        return self

    def __exit__(self, *_):
        self._entered.group = None

    @classmethod
    def _get_current_group(cls):
        return getattr(cls._entered, "group", None)


class _StopRecomputationError(Exception):
    """Ends a recomputation that has everything it needs."""


def metadata(tensor):
    """The metadata that the default determinism check compares."""
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


class _KeepInputs(Function):
    """A node that saves tensors, so that outer hooks see them and later writes are noticed."""

    @staticmethod
    def forward(ctx, anchor, *tensors):
        ctx.save_for_backward(*tensors)
        return anchor.view_as(anchor)

    @staticmethod
    def backward(ctx, *grads):
        raise AssertionError("the node that keeps a checkpoint's inputs was run")


class _Inputs:
    """A call's positional arguments, the tensors among them as saved tensors."""

    def __init__(self, args):
        self._args = [None if isinstance(arg, _C.Tensor) else arg for arg in args]
        self._positions = [i for i, arg in enumerate(args) if isinstance(arg, _C.Tensor)]
        anchor = _C.empty(0, requires_grad=True)
        with enable_grad():
            # The result owns the node, and the node owns its saved tensors.
            self._result = _KeepInputs.apply(anchor, *(args[i] for i in self._positions))

    def get(self):
        args = list(self._args)
        for position, tensor in zip(self._positions, self._result.grad_fn.saved_tensors):
            args[position] = tensor
        return args


class _Placeholder:
    """Stands in the graph for a tensor that is recomputed."""

    __slots__ = ("__weakref__", "position")

    def __init__(self, position):
        self.position = position


def _state_sizes(tensor, sizes):
    """In a trace: sizes that only data tells are those of the forward, whose data it has again."""
    for now, before in zip(tensor.shape, sizes):
        if isinstance(now, _C.SymInt) and _C._dynamo.is_unbacked(now):
            _check(now == before)


def _has_any(values):
    return any(value is not None for value in values.values())


class Frame:
    """One checkpointed call: its placeholders, and the tensors recomputed for them."""

    def __init__(self, recompute, args, early_stop, metadata_of):
        self.recompute = recompute
        self.inputs = _Inputs(args)
        self.early_stop = early_stop
        self.metadata_of = metadata_of
        self.placeholders = []  # weak: the graph owns them
        self.metadata = []
        self.sizes = []
        self.is_forward_done = False
        self.values = {}  # run -> position -> tensor, or None once it was handed out

    # ---- forward ----
    def pack(self, tensor):
        placeholder = _Placeholder(len(self.placeholders))
        self.placeholders.append(weakref.ref(placeholder, self._forget(placeholder.position)))
        self.metadata.append(self.metadata_of(tensor))
        self.sizes.append(tensor.shape)
        return placeholder

    def _forget(self, position):
        """Drops the recomputed values of a placeholder that the graph let go."""
        frame = weakref.ref(self)

        def forget(_):
            if frame() is not None:
                for values in frame().values.values():
                    values.pop(position, None)

        return forget

    # ---- backward ----
    def unpack(self, placeholder):
        group = GraphExecGroup._get_current_group()
        values = self._values_of_run(_C._current_graph_task_id() if group is None else group)
        tensor = values.get(placeholder.position)
        if tensor is None:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already "
                f"unpacked once. {'' if group is None else _OVERLAP}If you are calling "
                "ctx.saved_tensors in backward, make sure to do so only once. Otherwise please "
                "open an issue with details on your use case."
            )
        values[placeholder.position] = None
        return tensor

    def _values_of_run(self, run):
        if run == -1:  # no backward run: somebody looks at a node's saved tensor
            return self._recomputed()
        if run not in self.values:
            # Runs that got everything they asked for have nothing left to keep.
            self.values = {r: v for r, v in self.values.items() if _has_any(v)}
            self.values[run] = self._recomputed()
        return self.values[run]

    def _recomputed(self):
        """Calls the function again; position -> tensor for the placeholders still in use."""
        recomputation = _Recomputation(self)
        args = self.inputs.get()
        hooks = saved_tensors_hooks(recomputation.pack, lambda tensor: tensor)
        with contextlib.suppress(_StopRecomputationError), hooks, enable_grad():
            self.recompute(*args)
        recomputation.check()
        return recomputation.values


class _Recomputation:
    """The second call of a region's function."""

    def __init__(self, frame):
        self.frame = frame
        self.count = 0
        self.values = {}
        self.is_surplus_expected = False

    def pack(self, tensor):
        frame, position = self.frame, self.count
        tensor = tensor.detach() if tensor.requires_grad else tensor
        self.count += 1
        if position >= len(frame.placeholders):
            if frame.is_forward_done:
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than "
                    f"during the original forward pass.\n{TIP}"
                )
            # Backward runs inside the region: the forward has not saved the rest yet.
            self.is_surplus_expected = True
            return tensor
        if frame.placeholders[position]() is not None:
            _state_sizes(tensor, frame.sizes[position])
            self.values[position] = tensor
        if frame.early_stop and self.count == len(frame.placeholders):
            raise _StopRecomputationError
        return tensor

    def check(self):
        """Compares number and metadata of the saved tensors with the forward's."""
        if self.is_surplus_expected:
            return
        frame = self.frame
        if self.count != len(frame.placeholders):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the "
                "original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(frame.placeholders)}\n"
                f"Number of tensors saved during recomputation: {self.count}.\n{TIP}"
            )
        found = {position: frame.metadata_of(tensor) for position, tensor in self.values.items()}
        different = "".join(
            f"tensor at position {position}:\n"
            f"saved metadata: {frame.metadata[position]}\n"
            f"recomputed metadata: {now}\n"
            for position, now in found.items()
            if now != frame.metadata[position]
        )
        if different:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have "
                f"different metadata than during the forward pass.\n{different}.\n{TIP}"
            )
