"""Tracer: runs a program on proxies and returns what it did as a graph."""

import copy
import math
import threading
from collections import OrderedDict
from types import FunctionType

import taeda
from taeda._own_names import own_module
from taeda.fx._concrete_args import PH, PHBase, PHWithMeta, RootArguments  # noqa: F401
from taeda.fx._patching import (
    Patcher,
    find_proxy,
    original,
    patch_autowrapped,
    patch_wrapped,
)
from taeda.fx._tracer_base import PLAIN_TYPES, Scope, TracerBase
from taeda.fx._wrapped_functions import (
    _wrapped_fns_to_patch,  # noqa: F401
    _wrapped_methods_to_patch,  # noqa: F401
    wrap,
)
from taeda.fx.graph import Graph
from taeda.fx.graph_module import _make_graph_module
from taeda.fx.proxy import ParameterProxy, Proxy
from taeda.nn import Module, Parameter, Sequential

__all__ = ["PH", "ProxyableClassMeta", "Tracer", "is_fx_tracing", "symbolic_trace", "wrap"]

_orig_module_call = Module.__call__
_orig_module_getattr = Module.__getattr__
_proxyable_classes = {}


_running = threading.local()


def running_traces():
    """The traces that this thread is in, the innermost last."""
    traces = getattr(_running, "traces", None)
    if traces is None:
        traces = _running.traces = []
    return traces


def is_fx_tracing():
    """Whether this thread is in a symbolic trace."""
    return bool(getattr(_running, "traces", ()))


is_fx_symbolic_tracing = is_fx_tracing


class ProxyableClassMeta(type):
    """Metaclass: in a trace, making an instance from proxies is recorded."""

    def __init__(cls, name, bases, attrs):
        _proxyable_classes.setdefault(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args, **kwargs):
        proxy = find_proxy(args, kwargs) if is_fx_tracing() else None
        if proxy is not None:
            return proxy.tracer.create_proxy("call_function", cls, args, kwargs)
        return super().__call__(*args, **kwargs)


class Tracer(TracerBase):
    """Traces modules and functions; subclasses say what is a leaf and how calls are recorded."""

    def __init__(
        self, autowrap_modules=(math,), autowrap_functions=(), param_shapes_constant=False
    ):
        super().__init__()
        self._autowrap_function_ids = {
            id(original(value))
            for module in autowrap_modules
            for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        }
        self._autowrap_function_ids.update(id(original(f)) for f in autowrap_functions)
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = OrderedDict()
        self.num_calls = {}
        self.node_name_to_scope = {}
        self._paths = {}

    def __deepcopy__(self, memo):
        """A tracer with copies of what this one holds, but for the modules of Python."""
        copied = memo[id(self)] = type(self).__new__(type(self))
        for name, value in vars(self).items():
            is_shared = name in ("_autowrap_search", "_autowrap_function_ids")
            vars(copied)[name] = copy.copy(value) if is_shared else copy.deepcopy(value, memo)
        return copied

    # ---- what subclasses override ----
    def is_leaf_module(self, m, module_qualified_name):
        """Whether calls of the module are one step: by default, modules of taeda.nn."""
        return own_module(type(m)).startswith("taeda.nn") and not isinstance(m, Sequential)

    def path_of_module(self, mod):
        """The dotted path of a module below the root."""
        path = (self.submodule_paths or {}).get(mod)
        if path is None:
            # A module that was added while the trace runs.
            path = next((name for name, m in self.root.named_modules() if m is mod), None)
        if path is None:
            raise NameError("module is not installed as a submodule")
        return path

    def call_module(self, m, forward, args, kwargs):
        """Records a call of a leaf module; runs the forward of another one."""
        path = self.path_of_module(m)
        outer, scope = self.module_stack, self.scope
        count = self.num_calls.get(path, 0)
        self.num_calls[path] = count + 1
        inner = OrderedDict(outer)
        inner[f"{path}@{count}" if count else path] = (path, type(m))
        self.module_stack, self.scope = inner, Scope(path, type(m))
        try:
            if self.is_leaf_module(m, path):
                return self.create_proxy("call_module", path, args, kwargs)
            return forward(*args, **kwargs)
        finally:
            self.module_stack, self.scope = outer, scope

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        """What `module.attr` gives in a trace: for parameters a proxy."""
        if not isinstance(attr_val, taeda.Tensor):
            return attr_val
        if isinstance(attr_val, Parameter):
            kind = "parameters"
        elif self.proxy_buffer_attributes:
            kind = "buffers"
        else:
            return attr_val
        path = self._path_of_tensor(kind, attr_val)
        if path is None:
            return attr_val
        if path not in parameter_proxy_cache:
            factory = None
            if self.param_shapes_constant and kind == "parameters":
                factory = lambda node: ParameterProxy(self, node, path, attr_val)
            factories = {} if factory is None else {"proxy_factory_fn": factory}
            made = self.create_proxy("get_attr", path, (), {}, **factories)
            parameter_proxy_cache[path] = made
        return parameter_proxy_cache[path]

    def _module_getattr(self, attr, attr_val, parameter_proxy_cache):
        return self.getattr(attr, attr_val, parameter_proxy_cache)

    def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
        node = super().create_node(kind, target, args, kwargs, name, type_expr)
        scope = self.scope
        self.node_name_to_scope[node.name] = (scope.module_path, scope.module_type)
        return node

    # ---- arguments ----
    def create_arg(self, a):
        """Tensors and modules become get_attr nodes, constants are kept on the root."""
        kind = type(a)
        if kind is Proxy:
            return a.node
        if kind in PLAIN_TYPES:
            return a
        if isinstance(a, taeda.Tensor):
            return self.create_node("get_attr", self._path_or_constant(a), (), {})
        if isinstance(a, Module):
            path = self.path_of_module(a)
            return self.create_node("get_attr", path, (), {})
        if kind in _proxyable_classes:
            name = self.get_fresh_qualname(f"_{kind.__name__}_constant_")
            setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def _create_tuple(self, a):
        if not hasattr(a, "_fields"):
            return super()._create_tuple(a)
        return self.create_node("call_function", type(a), tuple(map(self.create_arg, a)), {})

    def _path_or_constant(self, tensor):
        kind = "parameters" if isinstance(tensor, Parameter) else "buffers"
        path = self._path_of_tensor(kind, tensor) or self._path_of_tensor("attributes", tensor)
        if path is not None:
            return path
        if kind == "parameters":
            raise NameError("parameter is not a member of this module")
        name = self.get_fresh_qualname("_tensor_constant")
        self._paths["attributes"][id(tensor)] = name
        setattr(self.root, name, tensor)
        return name

    def get_fresh_qualname(self, prefix):
        """The prefix with the first number that makes it no attribute of the root."""
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    def _path_of_tensor(self, kind, tensor):
        """The path of a parameter, buffer or other attribute; tables are made when first needed."""
        table = self._paths.get(kind)
        if table is None:
            table = self._paths[kind] = {id(t): path for path, t in self._named(kind)}
        return table.get(id(tensor))

    def _named(self, kind):
        if kind != "attributes":
            return getattr(self.root, f"named_{kind}")()
        return [
            (f"{path}.{name}" if path else name, value)
            for path, module in self.root.named_modules()
            for name, value in vars(module).items()
            if isinstance(value, taeda.Tensor)
        ]

    # ---- tracing ----
    def create_args_for_root(self, root_fn, is_module, concrete_args=None):
        """Makes the placeholders; returns the function to run and its arguments."""
        return RootArguments(self, root_fn, is_module, concrete_args).make()

    def trace(self, root, concrete_args=None):
        """The graph of a module or function; `concrete_args` fixes arguments to values."""
        is_module = isinstance(root, Module)
        fn = self._start(root, is_module)
        self.graph = Graph(tracer_cls=getattr(type(self), "__name__", None) and type(self))
        code = getattr(fn, "__code__", None)
        if code is not None:
            place = f"{code.co_filename}:{code.co_firstlineno} in {code.co_name}"
            self.graph._traced_at = place
        fn, args = self.create_args_for_root(fn, is_module, concrete_args)
        with _Trace(self, fn):
            result = fn(*args)
        annotation = getattr(fn, "__annotations__", {}).get("return")
        self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=annotation)
        return self.graph

    def _start(self, root, is_module):
        """Sets the root; returns the function to trace."""
        self._paths = {}
        if not is_module:
            if not isinstance(root, FunctionType):
                raise AssertionError(f"Expected FunctionType, got {type(root)}")
            self.root = Module()
            self.submodule_paths = {}
            return root
        self.root = root
        self.root_module_name = root._get_name()
        self.submodule_paths = {module: name for name, module in root.named_modules()}
        if not hasattr(type(root), self.traced_func_name):
            raise AssertionError(
                f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}"
            )
        return getattr(type(root), self.traced_func_name)


class _Trace:
    """One run of a tracer: what modules and wrapped functions do meanwhile."""

    def __init__(self, tracer, fn):
        self.tracer = tracer
        self.parameter_proxies = {}
        self._fn = fn
        self._patcher = Patcher()

    def __enter__(self):
        patcher = self._patcher
        try:
            patcher.patch(Module, "__getattr__", _traced_getattr)
            patcher.patch(Module, "__call__", _traced_call)
            patch_wrapped(patcher)
            self.patch_globals(self._fn)
            for module in self.tracer._autowrap_search:
                patch_autowrapped(patcher, vars(module), self.tracer._autowrap_function_ids)
        except BaseException:
            patcher.__exit__()
            raise
        running_traces().append(self)

    def __exit__(self, *_):
        running_traces().pop()
        self._patcher.__exit__()

    def patch_globals(self, fn):
        """Makes what is wrapped automatically record itself in the globals of a function."""
        ids = self.tracer._autowrap_function_ids
        patch_autowrapped(self._patcher, getattr(fn, "__globals__", {}), ids)


def _traced_getattr(mod, attr):
    """Module.__getattr__ while traces run; threads without one see what they always did."""
    value = _orig_module_getattr(mod, attr)
    if not is_fx_tracing():
        return value
    trace = running_traces()[-1]
    return trace.tracer.getattr(attr, value, trace.parameter_proxies)


def _traced_call(mod, *args, **kwargs):
    """Module.__call__ while traces run."""
    if not is_fx_tracing():
        return _orig_module_call(mod, *args, **kwargs)
    trace = running_traces()[-1]

    def forward(*args, **kwargs):
        return _orig_module_call(mod, *args, **kwargs)

    trace.patch_globals(mod.forward)
    return trace.tracer.call_module(mod, forward, args, kwargs)


def symbolic_trace(root, concrete_args=None):
    """A GraphModule of what the module or function does.

    Arguments named in `concrete_args` are fixed to the values there; `fx.PH` within containers
    marks what stays an argument.
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return _make_graph_module(tracer.root, graph, name)
