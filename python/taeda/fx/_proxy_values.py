"""Proxy: stands for a value while a program is traced; what is done with it becomes nodes."""

import copy
import operator
import sys
from types import MethodDescriptorType, WrapperDescriptorType

import taeda
from taeda.fx._user_frames import asserted_truth, describe, is_storing_item, is_unpacking
from taeda.fx.node import map_aggregate

__all__ = ["Attribute", "ParameterProxy", "Proxy"]


# Asked for by functions that make a tensor or an array from other data.
_DATA_PROTOCOLS = frozenset(
    ["__dlpack__", "__dlpack_device__", "__array__"]
    + ["__array_interface__", "__array_struct__", "__cuda_array_interface__"]
)


class Proxy:
    """A value that is not known yet: the node that will compute it, and the tracer that records.

    Operators, calls, attributes, methods and functions of taeda on it are recorded. Control flow
    that needs its value raises TraceError.
    """

    def __init__(self, node, tracer=None):
        if tracer is None:
            from taeda.fx._tracer_base import GraphAppendingTracer

            tracer = GraphAppendingTracer(node.graph)
        self.tracer = tracer
        self.node = node

    def __repr__(self):
        return f"Proxy({self.node.name})"

    def __getattr__(self, k):
        if k in _DATA_PROTOCOLS:
            raise AttributeError(f"a Proxy stands for a value that is not known: it has no {k}")
        return Attribute(self, k)

    def __getstate__(self):
        return self.__dict__

    def __setstate__(self, state):
        self.__dict__ = state

    def __deepcopy__(self, memo):
        """A proxy of a copied node; the tracer is copied with it."""
        copied = memo[id(self)] = object.__new__(type(self))
        copied.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return copied

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self):
        frame = sys._getframe(1)
        count = is_unpacking(frame)
        if count is not None:
            return (self[i] for i in range(count))
        return self.tracer.iter(self)

    def __abs__(self):
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self):
        tracer = self.tracer
        truth = asserted_truth(sys._getframe(1)) if tracer.trace_asserts else None
        if truth is None:
            return tracer.to_bool(self)
        asserted = self
        if not truth:
            asserted = tracer.create_proxy("call_function", operator.not_, (self,), {})
        tracer.create_proxy("call_function", taeda._assert, (asserted, ""), {})
        return truth

    def keys(self):
        """What `**proxy` asks for."""
        return self.tracer.keys(self)

    def __len__(self):
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be "
            "recorded, please call torch.fx.wrap('len') at module scope\n"
            f"  at {describe(sys._getframe(1))}\n  Or use x.shape[0], which is recorded."
        )

    def __int__(self):
        raise TypeError(
            _no_number(
                "int() argument must be a string, a bytes-like object or a real number, not 'Proxy'"
            )
        )

    def __float__(self):
        raise TypeError(
            _no_number("float() argument must be a string or a real number, not 'Proxy'")
        )

    def __index__(self):
        raise TypeError(_no_number("'Proxy' object cannot be interpreted as an integer"))

    def __setitem__(self, index, value):
        if not is_storing_item(sys._getframe(1)):  # x.__setitem__(0, 1) is a call like others
            return Attribute(self, "__setitem__")(index, value)
        raise TypeError(
            "'Proxy' object does not support item assignment\n"
            f"  at {describe(sys._getframe(1))}\n"
            "  A trace records values, not writes. Use taeda.where, x.index_put or "
            "x.masked_fill, or put the code into a function marked with taeda.fx.wrap."
        )

    @classmethod
    def __torch_function__(cls, orig_method, types, args=(), kwargs=None):
        tracer = _only_tracer(orig_method, args, kwargs)
        is_method = isinstance(orig_method, (MethodDescriptorType, WrapperDescriptorType))
        if not is_method and getattr(orig_method, "__module__", "") == "taeda._tensor":
            is_method = taeda.overrides.is_tensor_method_or_property(orig_method)
        if is_method:
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs or {})
        return tracer.create_proxy("call_function", orig_method, args, kwargs or {})


def _no_number(fact):
    return (
        f"{fact}\n  at {describe(sys._getframe(2))}\n"
        "  A trace knows no values. Make the number an argument and pass it in concrete_args, or "
        "put the code into a function marked with taeda.fx.wrap."
    )


def _only_tracer(function, args, kwargs):
    """The tracer of the proxies among the arguments."""
    found = None
    for value in args if not kwargs else (*args, *kwargs.values()):
        if isinstance(value, Proxy):
            if found is None:
                found = value.tracer
            elif found is not value.tracer:
                break
    else:
        if found is not None:
            return found
    return _search_tracer(function, args, kwargs)


def _search_tracer(function, args, kwargs):
    tracers = {}

    def look(value):
        if isinstance(value, Proxy):
            tracers[value.tracer] = None

    map_aggregate((args, kwargs), look)
    if len(tracers) > 1:
        raise RuntimeError(
            f"Found multiple different tracers {list(tracers)} while trying to trace operations "
            f"{function}"
        )
    return next(iter(tracers))


class Attribute(Proxy):
    """An attribute of a proxy; if it is called, a method call is recorded instead."""

    def __init__(self, root, attr):
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node = None

    @property
    def node(self):
        if self._node is None:
            made = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {})
            self._node = made.node
        return self._node

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A parameter: shape and the like are known, so control flow may depend on them."""

    def __init__(self, tracer, node, name, param):
        super().__init__(node, tracer)
        if not isinstance(param, taeda.nn.Parameter):
            raise AssertionError(f"Expected Parameter, got {type(param)}")
        self.param = param
        self.name = name

    def __repr__(self):
        return f"ParameterProxy({self.name})"

    @property
    def shape(self):
        return self.param.shape

    def size(self, dim=None):
        return self.param.size() if dim is None else self.param.size(dim)

    def dim(self):
        return self.param.dim()

    @property
    def ndim(self):
        return self.param.ndim

    def numel(self):
        return self.param.numel()

    def nelement(self):
        return self.param.nelement()


def _recording(target):
    def method(self, *args):
        return self.tracer.create_proxy("call_function", target, (self, *args), {})

    return method


def _recording_reflected(target):
    def method(self, other):
        return self.tracer.create_proxy("call_function", target, (other, self), {})

    return method


def _add_operators():
    reflectable = [
        "add",
        "sub",
        "mul",
        "floordiv",
        "truediv",
        "mod",
        "pow",
        "lshift",
        "rshift",
        "and_",
        "or_",
        "xor",
        "matmul",
    ]
    for name in [
        *reflectable,
        "getitem",
        *["eq", "ne", "lt", "gt", "le", "ge", "pos", "neg", "invert"],
    ]:
        method = _recording(getattr(operator, name))
        method.__name__ = f"__{name.strip('_')}__"
        setattr(Proxy, method.__name__, method)
    for name in reflectable:
        method = _recording_reflected(getattr(operator, name))
        method.__name__ = f"__r{name.strip('_')}__"
        setattr(Proxy, method.__name__, method)


_add_operators()
# Comparison with == is recorded; as a key a proxy is itself.
Proxy.__hash__ = object.__hash__
