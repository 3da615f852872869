"""Passes that write calls the same way everywhere."""

import operator

import taeda
from taeda.fx.interpreter import Transformer
from taeda.fx.operator_schemas import create_type_hint, normalize_function, normalize_module

__all__ = ["NormalizeArgs", "NormalizeOperators"]


class NormalizeArgs(Transformer):
    """Matches arguments of functions and modules to signatures: by keyword unless told not to."""

    def __init__(self, module, normalize_to_only_use_kwargs=True):
        super().__init__(module)
        self.only_kwargs = normalize_to_only_use_kwargs

    def run_node(self, n):
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        if n.op == "call_function":
            types = tuple(create_type_hint(_type_of(a)) for a in n.args)
            kwarg_types = {k: create_type_hint(_type_of(v)) for k, v in n.kwargs.items()}
            found = normalize_function(n.target, args, kwargs, types, kwarg_types, self.only_kwargs)
        elif n.op == "call_module":
            found = normalize_module(self.module, n.target, args, kwargs, self.only_kwargs)
        else:
            return super().run_node(n)
        if found is not None:
            args, kwargs = found
        out = getattr(self, n.op)(n.target, args, kwargs)
        out.node.meta.update(n.meta)
        return out


def _type_of(value):
    """The type of an argument; a node without a note of its type is taken to be a tensor."""
    meta = getattr(value, "meta", None)
    if meta is not None:
        return meta.get("type", taeda.Tensor)
    return type(value)


class NormalizeOperators(Transformer):
    """Writes calls of taeda.add and the like as operators of Python."""

    _SIGNS = {
        taeda.add: operator.add,
        taeda.mul: operator.mul,
        taeda.sub: operator.sub,
        taeda.div: operator.truediv,
        taeda.floor_divide: operator.floordiv,
        taeda.remainder: operator.mod,
        taeda.eq: operator.eq,
        taeda.ne: operator.ne,
        taeda.lt: operator.lt,
        taeda.le: operator.le,
        taeda.gt: operator.gt,
        taeda.ge: operator.ge,
    }

    def call_function(self, target, args, kwargs):
        sign = self._SIGNS.get(target)
        if sign is None or len(args) != 2 or kwargs:
            return super().call_function(target, args, kwargs)
        return super().call_function(sign, args, {})
