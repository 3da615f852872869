"""The sample calls in PyTorch."""

import ast
import os

os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
import record_calls
import torch

import taeda
from golden_values.evaluate import GRADIENT_DTYPES, evaluate


def run(call):
    """PyTorch's (results, gradients) for a call of Taeda's record, or the type of its refusal."""
    dtype = str(call.dtype).rpartition(".")[2]
    arguments = converted(call.arguments())
    function = function_of(call.record)
    try:
        if dtype in GRADIENT_DTYPES:
            results, grads = evaluate(torch, function, call.record, arguments, True)
            return results, {name: allocated(grad) for name, grad in grads.items()}
    except (RuntimeError, NotImplementedError):
        # Without a derivative in PyTorch: the results are still known.
        arguments = converted(call.arguments())
    try:
        return evaluate(torch, function, call.record, arguments, False)
    except Exception as error:  # whatever PyTorch raises is the refusal
        return type(error).__name__


def allocated(gradient):
    """A zero without memory has none to read."""
    is_empty = gradient is not None and gradient._is_zerotensor()
    return gradient.clone() if is_empty else gradient


def function_of(record):
    """The operator of the same name, or the record's expression; None if there is neither."""
    if "golden" in record.data:
        code = compile(record.data["golden"], f"golden of {record.key}", "eval")
        scope = {"torch": torch, **{a.name: default(a) for a in record.schema.arguments}}
        return lambda *args, **kwargs: eval(
            code, {**scope, **record_calls.named(record, args, kwargs)}
        )
    packet = getattr(torch.ops.aten, record.schema.name, None)
    return getattr(packet, record.schema.overload or "default", None)


def default(argument):
    """The value of an argument that is not given."""
    text = argument.default
    if text is None or text in ("None", "Mean", "Sum"):
        return {"Mean": 1, "Sum": 2}.get(text)
    return ast.literal_eval(text)


def converted(value):
    """An argument of Taeda's as PyTorch's, with the same strides and flags."""
    if isinstance(value, taeda.Tensor):
        return tensor(value)
    if isinstance(value, dict):
        return {name: converted(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(converted(item) for item in value)
    if isinstance(value, (taeda.dtype, taeda.layout, taeda.memory_format)):
        return getattr(torch, str(value).rpartition(".")[2])
    if isinstance(value, taeda.device):
        return torch.device(str(value))
    if isinstance(value, taeda.Generator):
        return torch.Generator().manual_seed(value.initial_seed())
    return value


def tensor(t):
    """The same logical values over the same strides, the conjugate and negative flags set."""
    dtype = getattr(torch, str(t.dtype).rpartition(".")[2])
    values = torch.tensor(t.tolist(), dtype=dtype).reshape(tuple(t.shape))
    made = torch.empty_strided(tuple(t.shape), t.stride(), dtype=dtype)
    made = made.conj() if t.is_conj() else made
    made = torch._neg_view(made) if t.is_neg() else made
    made.copy_(values)
    return made


def missing_reason(record):
    """Why a record has no golden values: '' if it has, 'unexplained' if nobody said."""
    if "no_golden" in record.data:
        return record.data["no_golden"]
    if not record_calls.texts(record.key):
        return record.data.get("no_samples", "unexplained")
    return "" if function_of(record) is not None else "unexplained"
