"""Operators as functions of others: the table that make_fx and export take operators apart with.

    table = core_aten_decompositions()
    gm = make_fx(f, decomposition_table=table)(x)    # core operators only

The library's own decompositions are C++ (`taeda/ops/decompositions.h`) and stand in the table as
callables. A function registered for the same operator goes before them.
"""

from taeda._C import _dispatch
from taeda._ops import OpOverload, OpOverloadPacket
from taeda.utils import _pytree as pytree

__all__ = [
    "core_aten_decompositions",
    "decomposition_table",
    "get_decompositions",
    "global_decomposition_table",
    "register_decomposition",
    "remove_decompositions",
]


class NativeDecomposition:
    """An operator's decomposition in C++, called with the operator's arguments."""

    __slots__ = ("__name__", "op")

    def __init__(self, op):
        self.op = op
        self.__name__ = op._opname

    def __call__(self, *args, **kwargs):
        return _dispatch.decompose(self.op, args, kwargs)

    def __repr__(self):
        return f"<decomposition of {self.op}>"


_NATIVE = dict(_dispatch.decompositions())  # operator -> whether it is core

# Tables by the stage they are for: above autograd, below it, and on tensors without memory.
global_decomposition_table = {
    "post_autograd": {op: NativeDecomposition(op) for op in _NATIVE},
    "pre_autograd": {},
    "meta": {},
}
decomposition_table = global_decomposition_table["post_autograd"]


def _overloads(op):
    """The overloads that an operator given by the user stands for."""
    if isinstance(op, OpOverloadPacket):
        return [getattr(op, name) for name in op.overloads()]
    if isinstance(op, OpOverload):
        return [op]
    raise TypeError(f"expected an operator of taeda.ops, got {type(op).__name__}")


def _check_type(type):
    if type not in global_decomposition_table:
        kinds = tuple(global_decomposition_table)
        raise ValueError(f"type must be one of {kinds}, got {type!r}")


def _add(registry, op, fn):
    for overload in _overloads(op):
        known = registry.get(overload)
        if known is not None and not isinstance(known, NativeDecomposition):
            raise RuntimeError(f"duplicate registrations for {overload}")
        registry[overload] = fn


def register_decomposition(aten_op, registry=None, *, type="post_autograd", unsafe=False):
    """A decorator: the function decomposes an operator, all overloads of a packet, or a list.

    `unsafe` is PyTorch's word for functions whose signature is not checked; none is checked here.
    """
    _check_type(type)
    table = global_decomposition_table[type] if registry is None else registry

    def register(fn):
        for op in pytree.tree_leaves(aten_op):
            _add(table, op, fn)
        return fn

    return register


def get_decompositions(aten_ops, type="post_autograd"):
    """{operator: function} of those of the operators, overloads or packets, that have one."""
    _check_type(type)
    table = global_decomposition_table[type]
    wanted = [overload for op in aten_ops for overload in _overloads(op)]
    return {op: table[op] for op in wanted if op in table}


def remove_decompositions(decompositions, aten_ops):
    """Takes operators, overloads or packets, out of a table."""
    for op in aten_ops:
        for overload in _overloads(op):
            decompositions.pop(overload, None)


def core_aten_decompositions():
    """A new table that takes programs apart down to the core operators."""
    return {op: decomposition_table[op] for op, is_core in _NATIVE.items() if not is_core}
