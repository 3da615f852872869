"""Differentiation: `backward` and `grad`, and the modes that control recording."""

from taeda import _C
from taeda._C._autograd import SavedTensor
from taeda.autograd import graph
from taeda.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from taeda.autograd.function import Function
from taeda.autograd.grad_mode import (
    _unsafe_preserve_version_counter,
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from taeda.autograd.gradcheck import gradcheck, gradgradcheck
from taeda.autograd.variable import Variable
from taeda.overrides import handle_torch_function, has_torch_function, is_tensor_like

__all__ = [
    "Function",
    "SavedTensor",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


def _as_tuple(tensors):
    is_one = is_tensor_like(tensors) or isinstance(tensors, graph.GradientEdge)
    return (tensors,) if is_one else tuple(tensors)


def _inputs(inputs, caller):
    """The inputs as a tuple; of a dict, as of named parameters, the values."""
    if type(inputs) is dict:
        inputs = inputs.values()
    elif hasattr(inputs, "keys"):
        raise TypeError(
            f"`inputs` argument to `{caller}()` must be a dict, not {type(inputs).__name__}. "
            "Other Mapping types are not supported."
        )
    inputs = _as_tuple(inputs)
    if not inputs:
        raise RuntimeError(f"`inputs` argument to `{caller}()` cannot be empty.")
    return inputs


def _seeds(grads, outputs):
    """One gradient per output; None stands for one, where the output has one element."""
    if grads is None:
        return (None,) * len(outputs)
    grads = _as_tuple(grads)
    if len(grads) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    return grads


def backward(
    tensors,
    grad_tensors=None,
    retain_graph=None,
    create_graph=False,
    grad_variables=None,
    inputs=None,
):
    """Adds the gradients of `tensors` to the `grad` of the leaves, or of `inputs` where given."""
    if grad_variables is not None:
        from warnings import warn

        warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.",
            FutureWarning,
            stacklevel=2,
        )
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                "`backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    tensors = _as_tuple(tensors)
    inputs = () if inputs is None else _inputs(inputs, "backward")
    if retain_graph is None:
        retain_graph = create_graph
    _C._run_backward(
        tensors, _seeds(grad_tensors, tensors), retain_graph, create_graph, inputs, True, True
    )


def _run_batched(outputs, grads, retain_graph, create_graph, inputs, allow_unused):
    """Gradients for each row of `grads`, as tensors with one more dimension."""
    from taeda.func.batching import vmap

    given = [g for g in grads if g is not None]
    for i, (g, output) in enumerate(zip(grads, outputs)):
        if g is not None and is_tensor_like(output) and g.shape[1:] != output.shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output "
                "as the batch dimension. The sizes of the remaining dimensions are expected to "
                "match the shape of corresponding output, but a mismatch was detected: "
                f"grad_output[{i}] has a shape of {g.shape} and output[{i}] has a shape of "
                f"{output.shape}. If you only want some tensors in `grad_output` to be considered "
                "batched, consider using vmap."
            )
    if not given and any(output.numel() != 1 for output in outputs):
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    used = []

    def one_row(*rows):
        rows = iter(rows)
        seeds = tuple(None if g is None else next(rows) for g in grads)
        results = _C._run_backward(
            outputs, seeds, retain_graph, create_graph, inputs, allow_unused, False
        )
        used.extend(r is not None for r in results)
        return tuple(r for r in results if r is not None)

    found = iter(vmap(one_row, randomness="error")(*given))
    return tuple(next(found) if is_used else None for is_used in used)


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=None,
    is_grads_batched=False,
    materialize_grads=False,
):
    """The gradients of `outputs` with respect to `inputs`; nothing is accumulated.

    They come as a tuple, or as a dict with the keys of `inputs` where that is one.
    """
    keys = tuple(inputs) if type(inputs) is dict else None
    outputs, inputs = _as_tuple(outputs), _inputs(inputs, "grad")
    overridable = (*outputs, *inputs)
    if has_torch_function(overridable):
        return handle_torch_function(
            grad,
            overridable,
            outputs,
            inputs if keys is None else dict(zip(keys, inputs)),
            grad_outputs=grad_outputs,
            retain_graph=retain_graph,
            create_graph=create_graph,
            only_inputs=only_inputs,
            allow_unused=allow_unused,
            is_grads_batched=is_grads_batched,
            materialize_grads=materialize_grads,
        )
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, "
            "but got: allow_unused=False."
        )
    grads = _seeds(grad_outputs, outputs)
    if retain_graph is None:
        retain_graph = create_graph
    if allow_unused is None:
        allow_unused = materialize_grads
    if is_grads_batched:
        results = _run_batched(outputs, grads, retain_graph, create_graph, inputs, allow_unused)
    else:
        results = _C._run_backward(
            outputs, grads, retain_graph, create_graph, inputs, allow_unused, False
        )
    if materialize_grads:
        results = tuple(
            _zeros_like(tensor, create_graph) if result is None else result
            for result, tensor in zip(results, inputs)
        )
    return results if keys is None else dict(zip(keys, results))


def __getattr__(name):
    if name in ("functional", "forward_ad"):
        from importlib import import_module

        return import_module(f"taeda.autograd.{name}")
    raise AttributeError(f"module 'taeda.autograd' has no attribute '{name}'")


def _zeros_like(target, requires_grad):
    if not isinstance(target, _C.Tensor):
        raise RuntimeError(
            "materialize_grads cannot be used when the given input is a GradientEdge"
        )
    return _C.zeros_like(target, requires_grad=requires_grad)
