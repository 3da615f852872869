"""Operators that do more than give results."""

import enum

from taeda import _C, _ops
from taeda.fx.node import _side_effectful_functions, has_side_effect

__all__ = ["EffectType", "RegistrationHandle", "register_effect"]


class EffectType(enum.Enum):
    """What the order of calls means: ordered ones run in the order of the program."""

    ORDERED = "Ordered"


class RegistrationHandle:
    """Takes a registration back, once."""

    def __init__(self, on_destroy):
        self._on_destroy = on_destroy

    def destroy(self):
        self._on_destroy()


def _overload_of(op):
    name = op if isinstance(op, str) else getattr(op, "_qualname", None)
    if name is None:
        return op
    namespace, _, rest = name.partition("::")
    packet, _, overload = rest.partition(".")
    return getattr(getattr(getattr(_ops.ops, namespace), packet), overload or "default")


def _forget(overload):
    _side_effectful_functions.discard(overload)
    _C._fx.set_effectful(overload, False)


def register_effect(op, effect):
    """Says that calls of an operator have an effect: they stay in graphs, in their order.

    op: a name, an operator or a custom operator. None as effect says that there is none.
    """
    overload = _overload_of(op)
    if effect is None:
        _forget(overload)
    else:
        has_side_effect(overload)
    return RegistrationHandle(lambda: _forget(overload))
