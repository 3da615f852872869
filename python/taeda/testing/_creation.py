"""Tensors of random values for tests."""

import math
import warnings
from collections.abc import Sequence

import taeda

__all__ = ["make_tensor"]

_RANDOM_FLOATS = (taeda.float16, taeda.bfloat16, taeda.float32, taeda.float64)
_SMALL_FLOATS = (taeda.float8_e4m3fn, taeda.float8_e5m2)


def _limits(dtype):
    """The lowest number of a dtype, and what its numbers are below (or at)."""
    if dtype is taeda.bool:
        return 0, 2
    if dtype.is_floating_point or dtype.is_complex:
        return taeda.finfo(dtype).min, taeda.finfo(dtype).max
    # Bounds are of int64, so that its largest number is never drawn.
    info = taeda.iinfo(dtype)
    return info.min, info.max + (dtype is not taeda.int64)


def _interval(dtype, low, high):
    """The interval to draw from, inside the dtype's numbers."""
    is_float = dtype.is_floating_point or dtype.is_complex
    if low is None:
        low = 0 if dtype is taeda.bool else -9
    if high is None:
        high = 2 if dtype is taeda.bool else 9 if is_float else 10
    lowest, highest = _limits(dtype)
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and is_float and dtype not in _SMALL_FLOATS:
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is "
            "deprecated since 2.1 and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=3,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < lowest or low >= highest:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} "
            f"only supports [{lowest}, {highest})"
        )
    low, high = (min(max(bound, lowest), highest) for bound in (low, high))
    return (low, high) if is_float else (math.ceil(low), math.ceil(high))


def _uniform(shape, dtype, device, low, high):
    made = taeda.empty(shape, dtype=dtype, device=device)
    parts = taeda.view_as_real(made) if dtype.is_complex else made
    if high - low < taeda.finfo(dtype).max:
        parts.uniform_(low, high)
    else:  # wider than uniform_ takes
        parts.uniform_(low / 2, high / 2).mul_(2)
    return made


def make_tensor(
    *shape,
    dtype,
    device,
    low=None,
    high=None,
    requires_grad=False,
    noncontiguous=False,
    exclude_zero=False,
    memory_format=None,
):
    """A tensor of numbers drawn evenly from `low` up to, and without, `high`.

    The bounds are brought inside the dtype's numbers. They are -9 and 9 for floating point and
    complex types, -9 (0 without a sign) and 10 for integers, 0 and 2 for bool. `noncontiguous`
    leaves every second element of memory out, for tensors of more than one element. With
    `exclude_zero` zeros become 1, or the smallest normal number.
    """
    if len(shape) == 1 and isinstance(shape[0], Sequence):
        shape = shape[0]
    shape = tuple(shape)
    is_float = dtype.is_floating_point or dtype.is_complex
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"{noncontiguous=} and {memory_format=}"
        )
    if requires_grad and not is_float:
        raise ValueError(
            "`requires_grad=True` is not supported for boolean and integral dtypes, but got "
            f"{dtype=}"
        )
    noncontiguous = noncontiguous and math.prod(shape) > 1
    if noncontiguous:
        shape = (*shape[:-1], 2 * shape[-1])
    low, high = _interval(dtype, low, high)
    if not is_float:
        # randint's numbers, also from the least int64, which no size can be.
        made = taeda.empty(shape, dtype=dtype, device=device).random_(low, high)
    elif dtype in _SMALL_FLOATS:
        made = _uniform(shape, taeda.float32, device, low, high).to(dtype)
    elif dtype in _RANDOM_FLOATS or dtype.is_complex:
        made = _uniform(shape, dtype, device, low, high)
    else:
        raise TypeError(f"The requested dtype '{dtype}' is not supported by make_tensor().")
    if noncontiguous:
        made = made[..., 1::2]
    elif memory_format is not None:
        made = made.clone(memory_format=memory_format)
    if exclude_zero:
        made[made == 0] = taeda.finfo(dtype).tiny if is_float else 1
    if is_float and dtype not in _SMALL_FLOATS:
        made.requires_grad = requires_grad
    return made
