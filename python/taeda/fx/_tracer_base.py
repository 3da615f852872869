"""TracerBase: records nodes, and turns the arguments of traced calls into arguments of nodes."""

import dataclasses
import enum
import sys
from collections import OrderedDict

import taeda
from taeda.fx import traceback as fx_traceback
from taeda.fx._proxy_values import Attribute, Proxy
from taeda.fx._user_frames import describe, user_stack
from taeda.fx.graph import Graph
from taeda.fx.node import Node, base_types, map_aggregate, symbolic_types
from taeda.fx.operator_schemas import check_for_mutable_operation


class TraceError(ValueError):
    """The program cannot be traced: it depends on a value that is not known yet."""

    __module__ = "taeda.fx.proxy"


class Scope:
    """The module that is being traced: its path and class."""

    def __init__(self, module_path, module_type):
        self.module_path = module_path
        self.module_type = module_type


class ScopeContextManager:
    """Sets the scope for a while."""

    def __init__(self, scope, current_scope):
        self._scope = scope
        self._before = (scope.module_path, scope.module_type)
        scope.module_path = current_scope.module_path
        scope.module_type = current_scope.module_type

    def __enter__(self):
        return self._scope

    def __exit__(self, *_):
        self._scope.module_path, self._scope.module_type = self._before


# What goes into a graph as it is.
PLAIN_TYPES = {
    str,
    int,
    float,
    bool,
    complex,
    type(None),
    type(...),
    taeda.dtype,
    taeda.device,
    taeda.layout,
    taeda.memory_format,
}

_ITERATED = (
    "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as "
    "a *args or **kwargs function argument. See the torch.fx docs on pytorch.org for a more "
    "detailed explanation of what types of control flow can be traced, and check out the Proxy "
    "docstring for help troubleshooting Proxy iteration errors"
)


class TracerBase:
    """What records: a graph, and how proxies and arguments are made."""

    graph: Graph
    record_stack_traces = False
    _record_forward_stack_traces_only = False
    # Whether mutable arguments are checked, whether `assert` on a proxy is recorded.
    check_mutable_operations = False
    trace_asserts = False
    # Whether the values behind proxies may be buffers.
    proxy_buffer_attributes = False
    traced_func_name = "forward"
    scope: Scope
    module_stack: OrderedDict
    node_name_to_scope: dict

    def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
        """A node at the end of the graph, marked with the module it comes from."""
        if kind == "call_function" and self.check_mutable_operations:
            check_for_mutable_operation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if self.module_stack:
            node.meta["nn_module_stack"] = self.module_stack
        if fx_traceback.has_preserved_node_meta():
            fx_traceback.mark(node)
        return node

    def proxy(self, node):
        """The proxy of a node."""
        return Proxy(node, self)

    def create_proxy(
        self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None
    ):
        """Records a step; the arguments may hold proxies."""
        args = tuple([self.create_arg(a) for a in args])
        kwargs = {k: self.create_arg(v) for k, v in kwargs.items()} if kwargs else {}
        node = self.create_node(kind, target, args, kwargs, name, type_expr)
        if self.record_stack_traces and kind != "placeholder" and node.stack_trace is None:
            node.stack_trace = user_stack(sys._getframe(1))
        return self.proxy(node) if proxy_factory_fn is None else proxy_factory_fn(node)

    def create_arg(self, a):
        """The argument of a node for this argument of a traced call."""
        kind = type(a)
        if kind in PLAIN_TYPES:
            return a
        if isinstance(a, Proxy):
            return a.node
        create_arg = self.create_arg
        if kind is tuple:
            return tuple([create_arg(e) for e in a])
        if kind is list:
            return [create_arg(e) for e in a]
        if isinstance(a, tuple):
            return self._create_tuple(a)
        if isinstance(a, list):
            return [create_arg(e) for e in a]
        if isinstance(a, dict):
            return {self._create_key(k): create_arg(v) for k, v in a.items()}
        if kind is slice:
            return slice(create_arg(a.start), create_arg(a.stop), create_arg(a.step))
        if kind is range:
            return range(create_arg(a.start), create_arg(a.stop), create_arg(a.step))
        return self._create_rare(a)

    def _create_tuple(self, a):
        values = [self.create_arg(e) for e in a]
        return type(a)(*values) if hasattr(a, "_fields") else tuple(values)

    def _create_key(self, key):
        key = self.create_arg(key)
        if _holds_node(key):
            raise RuntimeError(
                f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {key}"
            )
        return key

    def _create_rare(self, a):
        if isinstance(a, (*base_types, Node, enum.Enum)):
            return a
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            fields = {
                field.name: self.create_arg(getattr(a, field.name))
                for field in dataclasses.fields(a)
                if field.init
            }
            return self.create_node("call_function", type(a), (), fields)
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, symbolic_types) or _is_operator(a):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    # ---- what a proxy cannot do ----
    def to_bool(self, obj):
        """Called where the truth value of a proxy is asked for."""
        raise TraceError(
            "symbolically traced variables cannot be used as inputs to control flow\n"
            f"  at {describe(sys._getframe(1))}\n"
            "  The branch depends on a value, and a trace knows no values. Use taeda.where, make "
            "the condition an argument and pass it in concrete_args, or put the code into a "
            "function marked with taeda.fx.wrap or a leaf module."
        )

    def iter(self, obj):
        """Called where a proxy is iterated over."""
        raise TraceError(
            f"{_ITERATED}\n  at {describe(sys._getframe(1))}\n"
            "  Index it (x[0]), unpack it into a known number of names (a, b = x), or put the loop "
            "into a function marked with taeda.fx.wrap or a leaf module."
        )

    def keys(self, obj):
        """Called where a proxy is used as `**proxy`."""
        return Attribute(obj, "keys")()


def _holds_node(value):
    found = []

    def look(leaf):
        if isinstance(leaf, Node):
            found.append(leaf)

    map_aggregate(value, look)
    return bool(found)


def _is_operator(value):
    return hasattr(value, "_schema") or hasattr(value, "overloads")


class GraphAppendingTracer(TracerBase):
    """Adds to a graph that exists."""

    def __init__(self, graph):
        super().__init__()
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = OrderedDict()
        self.node_name_to_scope = {}
