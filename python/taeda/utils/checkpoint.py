"""Activation checkpointing: saves memory by computing parts of the forward again in backward."""

import contextlib
import warnings

from taeda import _C
from taeda._own_names import adopt_private_classes
from taeda.autograd import backward, enable_grad, no_grad
from taeda.autograd.function import Function
from taeda.utils._forward_state import ForwardState, accelerators_of
from taeda.utils._recompute import CheckpointError, Frame, GraphExecGroup, metadata
from taeda.utils._selective import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "SAC_IGNORED_OPS",
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "GraphExecGroup",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

_METADATA = {"default": metadata, "none": lambda tensor: None}
# Set by the context managers below; None leaves the choice to the call.
_early_stop = None
_debug = None


def noop_context_fn():
    """Two context managers that do nothing, for forward and recomputation."""
    return contextlib.nullcontext(), contextlib.nullcontext()


@contextlib.contextmanager
def set_checkpoint_early_stop(enable):
    """Whether recomputation may stop when it has all it needs, for calls of checkpoint inside."""
    global _early_stop
    previous, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = previous


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled):
    """Overrides `debug` of the calls of checkpoint inside; None leaves it to them."""
    global _debug
    previous, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = previous


def checkpoint(
    function,
    *args,
    use_reentrant=None,
    context_fn=noop_context_fn,
    determinism_check="default",
    debug=False,
    early_stop=True,
    preserve_rng_state=True,
    **kwargs,
):
    """`function(*args, **kwargs)`, whose intermediate values are not kept but computed again.

    With `use_reentrant=False` (recommended) the tensors its nodes save are recomputed when backward
    needs them, up to the last one needed; nested checkpoints, `grad`, keyword arguments and inputs
    in containers work. `use_reentrant=True` runs the region as one Function and starts a backward
    of its own inside backward. Random numbers repeat, unless `preserve_rng_state` is off.
    """
    if use_reentrant is None:
        _warn_of_default("torch.utils.checkpoint")
        use_reentrant = True
    if not use_reentrant:
        debug = debug if _debug is None else _debug
        early_stop = early_stop if _early_stop is None else _early_stop
        settings = (context_fn, determinism_check, debug, early_stop, preserve_rng_state)
        return _checkpoint_with_hooks(function, args, kwargs, *settings)
    _check_reentrant(kwargs, context_fn, debug)
    return CheckpointFunction.apply(function, preserve_rng_state, *args)


def _warn_of_default(name):
    warnings.warn(
        f"{name}: the use_reentrant parameter should be passed explicitly. "
        "use_reentrant=False is recommended, but if you need to preserve the current default "
        "behavior, you can pass use_reentrant=True.",
        stacklevel=3,
    )


def _check_reentrant(kwargs, context_fn=noop_context_fn, debug=False, **_):
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError(
            "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
        )


# ---- by saved-tensor hooks ----
def _checkpoint_with_hooks(
    function, args, kwargs, context_fn, determinism_check, debug, early_stop, preserve_rng_state
):
    from taeda.autograd.graph import saved_tensors_hooks

    if determinism_check not in _METADATA:
        raise ValueError(
            f"determinism_check should be one of {list(_METADATA)}, but got {determinism_check}"
        )
    log = _operator_log(context_fn) if debug else None
    forward_context, recompute_context = log.contexts() if log else context_fn()
    if not _C.is_grad_enabled():
        return function(*args, **kwargs)
    state = ForwardState(args, preserve_rng_state)

    def recompute(*inputs):
        with state.again(), recompute_context:
            function(*inputs, **kwargs)

    frame = Frame(recompute, args, early_stop, _METADATA[determinism_check])
    unpack = _reporting(frame.unpack, log) if log else frame.unpack
    has_result = False
    with saved_tensors_hooks(frame.pack, unpack), forward_context:
        result = function(*args, **kwargs)
        has_result = True
    if not has_result:
        raise RuntimeError(
            "torch.utils.checkpoint: the forward context provided by context_fn suppressed an "
            "exception raised during the checkpointed forward. This is not supported because "
            "checkpoint cannot return a value for a failed forward."
        )
    frame.is_forward_done = True
    return result


def _operator_log(context_fn):
    from taeda.utils._operator_log import OperatorLog

    if context_fn is not noop_context_fn:
        raise ValueError("debug=True is incompatible with non-default context_fn")
    return OperatorLog()


def _reporting(unpack, log):
    def unpack_or_report(placeholder):
        try:
            return unpack(placeholder)
        except CheckpointError as error:
            raise log.report(error) from error

    return unpack_or_report


# ---- as a Function ----
def detach_variable(inputs):
    """The arguments with every tensor replaced by a leaf of the same values."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            "Only tuple of tensors is supported. Got Unsupported input type: "
            f"{type(inputs).__name__}"
        )
    return tuple(
        arg.detach().requires_grad_(arg.requires_grad) if isinstance(arg, _C.Tensor) else arg
        for arg in inputs
    )


def _has_gradients(inputs):
    return any(arg.requires_grad for arg in inputs if isinstance(arg, _C.Tensor))


def check_backward_validity(inputs):
    """Warns if no gradient can come out of a call with these arguments."""
    if not _has_gradients(inputs):
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2
        )


class CheckpointFunction(Function):
    """The reentrant variant: forward without recording, backward through a recorded second call."""

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.state = ForwardState(args, preserve_rng_state)
        ctx.inputs = [None if isinstance(arg, _C.Tensor) else arg for arg in args]
        ctx.tensor_indices = [i for i, arg in enumerate(args) if isinstance(arg, _C.Tensor)]
        ctx.save_for_backward(*(args[i] for i in ctx.tensor_indices))
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx, *grads):
        if not _is_checkpoint_valid():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                "passing an `inputs` parameter to .backward(). To resolve this error, you can "
                "either set use_reentrant=False, or call .backward() without passing the `inputs` "
                "argument."
            )
        inputs = list(ctx.inputs)
        for index, tensor in zip(ctx.tensor_indices, ctx.saved_tensors):
            inputs[index] = tensor
        inputs = detach_variable(tuple(inputs))
        with ctx.state.again(), enable_grad():
            outputs = ctx.run_function(*inputs)
        outputs = (outputs,) if isinstance(outputs, _C.Tensor) else outputs
        recorded = [
            (output, grad)
            for output, grad in zip(outputs, grads)
            if isinstance(output, _C.Tensor) and output.requires_grad
        ]
        if not recorded:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        backward(*zip(*recorded))
        return None, None, *(arg.grad if isinstance(arg, _C.Tensor) else None for arg in inputs)


def _is_checkpoint_valid():
    return _C._is_checkpoint_valid()


# ---- sequences ----
def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """Runs functions one after the other in `segments` checkpoints; the last segment is plain."""
    if use_reentrant is None:
        _warn_of_default("torch.utils.checkpoint.checkpoint_sequential")
        use_reentrant = True
    preserve_rng_state = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    functions = list(functions.children() if hasattr(functions, "children") else functions)
    size = len(functions) // segments
    split = size * (segments - 1)
    for start in range(0, split, size):
        input = checkpoint(
            _chain(functions[start : start + size]),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve_rng_state,
        )
    return _chain(functions[split:])(input)


def _chain(functions):
    def run(value):
        for function in functions:
            value = function(value)
        return value

    return run


# ---- random states of devices ----
class DefaultDeviceType:
    """The device type whose states count where no argument is on a device but the CPU."""

    _device_type = None

    @staticmethod
    def set_device_type(device="cuda"):
        DefaultDeviceType._device_type = device

    @staticmethod
    def get_device_type():
        from taeda import accelerator

        if DefaultDeviceType._device_type:
            return DefaultDeviceType._device_type
        current = accelerator.current_accelerator()
        return current.type if current else "cpu"


def get_device_states(*args):
    """(indices, random states) of the devices that the tensors among the arguments are on."""
    from taeda.random import _device_module

    for device_type, indices in accelerators_of(args):
        module = _device_module(device_type)
        if module:
            return indices, [module.get_rng_state(index) for index in indices]
    return [], []


def set_device_states(devices, states, *, device_type=None):
    """Sets the states that `get_device_states` returned."""
    from taeda.random import _device_module

    module = _device_module(device_type or DefaultDeviceType.get_device_type())
    for device, state in zip(devices, states):
        module.set_rng_state(state, device)


adopt_private_classes(globals())
