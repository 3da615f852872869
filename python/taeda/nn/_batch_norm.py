"""Batch normalization as a function of other operators."""

import math

from taeda import _C

_HALVES = (_C.float16, _C.bfloat16)


def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """(input - mean) / sqrt(var + eps) * weight + bias by channel, dimension 1.

    In training mean and variance are those of the batch, and the running ones move toward them.
    16-bit input is computed with in float32.
    """
    count = math.prod((input.size(0), *input.shape[2:])) if training else None  # by channel
    if count == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {input.size()}"
        )
    if input.dim() < 2:
        raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
    for name, value in (("running_mean", running_mean), ("running_var", running_var)):
        if not training and value is None:
            raise RuntimeError(f"{name} must be defined in evaluation mode")
    wide = input.float() if input.dtype in _HALVES else input
    if training:
        var, mean = _C.var_mean(wide, [d for d in range(input.dim()) if d != 1], correction=0)
        _move(running_mean, mean, momentum)
        _move(running_var, var * (count / max(count - 1, 1)), momentum)
    else:
        mean, var = running_mean, running_var
    shape = [input.size(1) if d == 1 else 1 for d in range(input.dim())]

    def by_channel(value):
        return value.to(wide.dtype).view(shape)

    result = (wide - by_channel(mean)) * _C.rsqrt(by_channel(var) + eps)
    if weight is not None:
        result = result * by_channel(weight)
    if bias is not None:
        result = result + by_channel(bias)
    return result.to(input.dtype)


def _move(running, value, momentum):
    if running is not None:
        running.copy_(running + (value.detach().to(running.dtype) - running) * momentum)
