"""A tracer that knows shapes and dtypes: arguments are described by tensors on the meta device.

Control flow may then depend on shapes, which become constants of the graph.
"""

import warnings

import taeda
from taeda.fx._symbolic_trace import Tracer, running_traces
from taeda.fx.graph_module import GraphModule, _get_attr
from taeda.fx.node import map_aggregate
from taeda.fx.proxy import Attribute, Proxy
from taeda.nn import Module

__all__ = [
    "MetaAttribute",
    "MetaDeviceAttribute",
    "MetaProxy",
    "MetaTracer",
    "manual_meta_overrides",
    "proxys_to_metas",
    "symbolic_trace",
]

# What to call on meta tensors in the place of a function or, with the module first, of a class.
manual_meta_overrides = {}


class MetaProxy(Proxy):
    """A proxy that may know a meta tensor like its value, or the value itself."""

    _tensor_meta = None

    def install_tensor_meta(self, tensor_meta):
        """Tells what the value is like."""
        self._tensor_meta = tensor_meta

    def _known(self, name):
        meta = self._tensor_meta
        return None if meta is None else getattr(meta, name)

    def size(self, dim=None):
        known = self._known("size")
        dims = () if dim is None else (dim,)
        if known is None:
            return self.tracer.create_proxy("call_method", "size", (self, *dims), {})
        return known(*dims)

    def dim(self):
        known = self._known("dim")
        if known is None:
            return self.tracer.create_proxy("call_method", "dim", (self,), {})
        return known()

    @property
    def shape(self):
        return self._read("shape")

    @property
    def ndim(self):
        return self._read("ndim")

    @property
    def dtype(self):
        return self._read("dtype")

    def _read(self, name):
        known = self._known(name)
        if known is None:
            return self.tracer.create_proxy("call_function", getattr, (self, name), {})
        return known

    @property
    def device(self):
        """Recorded: the graph runs elsewhere than on the meta device."""
        return MetaDeviceAttribute(self, "device")

    def __getattr__(self, k):
        return MetaAttribute(self, k)


class MetaAttribute(MetaProxy):
    """An attribute; if it is called, a method call is recorded instead."""

    __init__ = Attribute.__init__
    node = Attribute.node
    __call__ = Attribute.__call__


class MetaDeviceAttribute(MetaAttribute):
    """The device of a tensor: "meta" where shapes are worked out."""


def proxys_to_metas(v):
    """What stands for a value while shapes are worked out."""
    if isinstance(v, MetaDeviceAttribute):
        return "meta"
    if isinstance(v, Proxy):
        if getattr(v, "_tensor_meta", None) is None:
            raise ValueError(f"nothing is known of {v}")
        return v._tensor_meta
    return v


class MetaTracer(Tracer):
    """Traces with `meta_args`, meta tensors by the names of the arguments."""

    # Whether modules without state that are not part of the root may be called.
    allow_insert_stateless_mods = True
    meta_args = {}

    def proxy(self, node):
        return MetaProxy(node, self)

    def create_proxy(
        self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None
    ):
        """Records a step, and works out what its result is like."""
        made = super().create_proxy(kind, target, args, kwargs, name, type_expr, proxy_factory_fn)
        if kind == "placeholder" and target in self.meta_args:
            made.install_tensor_meta(self.meta_args[target])
        elif kind in ("call_function", "call_method", "call_module", "get_attr"):
            try:
                made.install_tensor_meta(self._meta_of(kind, target, args, kwargs))
            except Exception as error:  # any kernel may fail: then nothing is known of the value
                warnings.warn(
                    f"Could not compute metadata for {kind} target {target}: {error}", stacklevel=2
                )
        return made

    def _meta_of(self, kind, target, args, kwargs):
        args = map_aggregate(tuple(args), proxys_to_metas)
        kwargs = map_aggregate(dict(kwargs or {}), proxys_to_metas)
        if kind == "call_function":
            return manual_meta_overrides.get(target, target)(*args, **kwargs)
        if kind == "call_method":
            return getattr(args[0], target)(*args[1:], **kwargs)
        with _Untraced():
            value = _get_attr(self.root, target)
            if kind == "get_attr":
                return value.to("meta")
            if type(value) in manual_meta_overrides:
                return manual_meta_overrides[type(value)](value, *args, **kwargs)
            return _call_on_meta(value, args, kwargs)

    def path_of_module(self, mod):
        """Like Tracer's; a module without state becomes part of the root."""
        try:
            return super().path_of_module(mod)
        except NameError:
            has_state = any(True for _ in (*mod.parameters(), *mod.buffers()))
            if has_state or not self.allow_insert_stateless_mods:
                raise
        path = self.get_fresh_qualname(f"{type(mod).__name__.lower()}_")
        self.root.add_module(path, mod)
        return path

    def trace(self, root, meta_args=None, concrete_args=None):
        """The graph for arguments like these."""
        if not isinstance(meta_args or {}, dict):
            raise AssertionError(f"Expected dict for meta_args, got {type(meta_args)}")
        self.meta_args = meta_args or {}
        graph = super().trace(root, concrete_args)
        graph._tracer_extras = {"meta_args": self.meta_args}
        return graph


class _Untraced:
    """Modules within are called, not recorded."""

    def __enter__(self):
        self._traces = running_traces()
        self._saved = self._traces[:]
        self._traces.clear()

    def __exit__(self, *_):
        self._traces[:] = self._saved


def _call_on_meta(module, args, kwargs):
    state = [*module.named_parameters(), *module.named_buffers()]
    on_meta = {name: value.detach().to("meta") for name, value in state}
    return taeda.func.functional_call(module, on_meta, args, kwargs)


def symbolic_trace(root, meta_args=None, concrete_args=None):
    """A GraphModule of what the module or function does with arguments like `meta_args`."""
    tracer = MetaTracer()
    graph = tracer.trace(root, meta_args, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
