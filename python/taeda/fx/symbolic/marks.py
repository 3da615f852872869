"""Marks on tensors: which dimensions may change from call to call.

The marks are attributes of the tensor. A fake tensor that is made from it under a shape environment
has a symbol for a dynamic dimension and a constant for a static one; a program that fixes a
dynamic dimension all the same is an error when its guards are produced.
"""

from dataclasses import dataclass

from taeda.fx.symbolic.inputs import (
    DimDynamic,
    RelaxedUnspecConstraint,
    StatelessSymbolicContext,
    StrictMinMaxConstraint,
    ValueRanges,
    int_oo,
)
from taeda.fx.symbolic.numbers import override_optimization_hint

__all__ = ["mark_dynamic", "mark_static", "mark_unbacked", "maybe_mark_dynamic"]

_MARKS = "_dynamo_dimension_marks"
# The attributes that PyTorch's programs look at: the dimensions that have each kind of mark.
_INDICES = {
    "_dynamo_dynamic_indices": lambda mark: mark.how is DimDynamic.DYNAMIC and mark.constraint,
    "_dynamo_weak_dynamic_indices": lambda mark: (
        mark.how is DimDynamic.DYNAMIC and not mark.constraint
    ),
    "_dynamo_unbacked_indices": lambda mark: mark.how is DimDynamic.UNBACKED,
    "_dynamo_static_indices": lambda mark: mark.how is DimDynamic.STATIC,
}


@dataclass(frozen=True)
class _Mark:
    """How a dimension is treated, and what is required of it."""

    how: DimDynamic
    constraint: object = None
    guess: int | None = None  # what optimizations take an unbacked size for
    limits: tuple = (None, None)  # the least size and the greatest


@dataclass(frozen=True)
class _DimRange:
    """The sizes that a dimension is compiled for; None: no limit."""

    dim: int
    min: int | None
    max: int | None


def _marks(t):
    return t.__dict__.setdefault(_MARKS, {})


def _mark(t, index, mark):
    for i in (index,) if isinstance(index, int) else index:
        if not -t.dim() <= i < t.dim():
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-t.dim()}, {t.dim() - 1}], "
                f"but got {i})"
            )
        _marks(t)[i % t.dim()] = mark
    for name, is_meant in _INDICES.items():
        setattr(t, name, {i for i, m in _marks(t).items() if is_meant(m)})
    t._dynamo_dynamic_range = {
        _DimRange(i, *m.limits)
        for i, m in _marks(t).items()
        if any(x is not None for x in m.limits)
    }


def mark_dynamic(t, index, *, hint_override=None, min=None, max=None, specialize_on=None):
    """The dimension has a symbol; with `min` and `max` every size between them must be served."""
    if hint_override is not None or specialize_on is not None:
        raise NotImplementedError("mark_dynamic takes min and max; other hints are not supported")
    constraint = _range_constraint("mark_dynamic", min, max) or RelaxedUnspecConstraint()
    _mark(t, index, _Mark(DimDynamic.DYNAMIC, constraint, limits=(min, max)))


def _range_constraint(name, min, max):
    """What `min` and `max` require; None without them."""
    if min is None and max is None:
        return None
    if min is not None and max is not None and min > max:
        raise ValueError(f"{name}: min {min} is above max {max}")
    lower, upper = 0 if min is None else min, int_oo if max is None else max
    return StrictMinMaxConstraint(ValueRanges(lower, upper))


def maybe_mark_dynamic(t, index):
    """The dimension has a symbol, which a program may fix."""
    _mark(t, index, _Mark(DimDynamic.DYNAMIC))


def mark_unbacked(
    t, index, hint_override=None, strict=False, specialize_on=None, *, min=None, max=None
):
    """The dimension has a symbol without a value, between `min` and `max`: nothing may depend on
    the value. Optimizations take it for `hint_override`."""
    constraint = _range_constraint("mark_unbacked", min, max)
    _mark(t, index, _Mark(DimDynamic.UNBACKED, constraint, hint_override, (min, max)))


def mark_static(t, index=None):
    """The dimension, or each, is a constant. A class of modules, which may be decorated, stays."""
    if isinstance(t, type):
        return t
    _mark(t, range(t.dim()) if index is None else index, _Mark(DimDynamic.STATIC))


def marked_context(t, default):
    """The symbolic context of a tensor's marks, `default` for the others; None without marks."""
    marks = t.__dict__.get(_MARKS)
    if not marks:
        return None
    each = [marks.get(i, _Mark(default)) for i in range(t.dim())]
    return StatelessSymbolicContext([m.how for m in each], [m.constraint for m in each])


def note_guesses(t, sizes):
    """Tells the environment of a tensor's sizes what its marks guess of them."""
    for i, mark in t.__dict__.get(_MARKS, {}).items():
        if mark.guess is not None:
            override_optimization_hint(sizes[i], mark.guess)
