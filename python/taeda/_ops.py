"""taeda.ops: every operator by namespace, name and overload, called through the dispatcher.

`taeda.ops.aten.add` is a packet, which picks the overload that takes the arguments;
`taeda.ops.aten.add.Tensor` is the overload itself, one object for the life of the process. Dispatch
modes get these objects.
"""

import enum
import importlib
import types

from taeda._C import _dispatch
from taeda._schema_types import type_of_text

__all__ = ["Argument", "FunctionSchema", "OpOverload", "OpOverloadPacket", "Tag", "ops"]


_TAG_BITS = dict(_dispatch.tags())
Tag = enum.Enum("Tag", {name: index for index, name in enumerate(_TAG_BITS)}, module=__name__)
Tag.__doc__ = "Properties of operators beside their schema."


def _tag_bits(tags):
    """The bits of a Tag or of several."""
    bits = 0
    for tag in (tags,) if isinstance(tags, Tag) else tags:
        if not isinstance(tag, Tag):
            raise TypeError(f"tags are members of torch.Tag, got {tag!r}")
        bits |= _TAG_BITS[tag.name]
    return bits


class AliasInfo:
    """The alias annotation of an argument: `(a!)`."""

    __slots__ = ("after_set", "before_set", "is_write")

    def __init__(self, text, is_write):
        # "a", "a|b" and "a -> *": which sets a value may be in, before and after the call.
        before, _, after = text.partition("->")
        self.before_set = {name.strip() for name in before.split("|")}
        self.after_set = {name.strip() for name in (after or before).split("|")}
        self.is_write = is_write


class Argument:
    """An argument or result of an operator."""

    __slots__ = (
        "_has_default",
        "alias_info",
        "default_value",
        "is_out",
        "kwarg_only",
        "name",
        "type",
    )

    def __init__(self, name, type, alias, is_write, kwarg_only, has_default, default_value):
        self.name = name
        self.type = type_of_text(type)
        self.kwarg_only = kwarg_only
        self.default_value = default_value
        self.alias_info = AliasInfo(alias, is_write) if alias or is_write else None
        self.is_out = is_write and kwarg_only
        self._has_default = has_default

    def has_default_value(self):
        return self._has_default

    def __repr__(self):
        return f"Argument({self.type} {self.name})"


class FunctionSchema:
    """An operator's signature; `str` gives it in PyTorch's syntax."""

    __slots__ = ("_text", "arguments", "is_mutable", "name", "overload_name", "returns")

    def __init__(self, text, name, overload_name, arguments, returns):
        self._text = text
        self.name = name
        self.overload_name = overload_name
        self.arguments = [Argument(*parts) for parts in arguments]
        self.returns = [Argument(*parts) for parts in returns]
        self.is_mutable = any(a.alias_info and a.alias_info.is_write for a in self.arguments)

    def __str__(self):
        return self._text

    __repr__ = __str__


class OpOverload:
    """One overload of an operator."""

    _dispatch_rules = None  # by type of mode or tensor, see library.register_torch_dispatch

    def __init__(self, packet, overload_name, handle):
        text, name, _, is_composite, arguments, returns = _dispatch.parsed_schema(handle)
        self._overloadpacket = packet
        self._opname = packet.__name__
        self._overloadname = overload_name
        self._handle = handle
        self._schema = FunctionSchema(
            text, name, "" if overload_name == "default" else overload_name, arguments, returns
        )
        self._is_composite = is_composite
        self.__name__ = f"{packet.__name__}.{overload_name}"
        self.__module__ = packet.__module__
        self.__qualname__ = self.__name__

    @property
    def overloadpacket(self):
        return self._overloadpacket

    @property
    def namespace(self):
        return self._schema.name.split("::")[0]

    @property
    def tags(self):
        bits = _dispatch.operator_tags(self._handle)
        return [tag for tag in Tag if bits & _TAG_BITS[tag.name]]

    @property
    def is_view(self):
        """Whether a result shares memory with an argument that is not written to."""
        arguments = [a.alias_info for a in self._schema.arguments if a.alias_info]
        return bool(arguments) and not self._schema.is_mutable

    def name(self):
        """The full name: `aten::add.Tensor`, `aten::mm` for the default overload."""
        overload = self._schema.overload_name
        return f"{self._schema.name}.{overload}" if overload else self._schema.name

    def __call__(self, /, *args, **kwargs):
        return _dispatch.call(self._handle, args, kwargs, self)

    def redispatch(self, keyset, /, *args, **kwargs):
        """Calls the operator from the outermost of the given keys on."""
        return _dispatch.redispatch(self._handle, keyset.raw_repr(), args, kwargs)

    def has_kernel_for_dispatch_key(self, key):
        """Whether a kernel of its own, no fallback, serves the key."""
        return _dispatch.has_kernel(self._handle, key)

    def decompose(self, *args, **kwargs):
        """The results of a composite operator, made of others; NotImplemented for the rest."""
        if not self._is_composite:
            return NotImplemented
        return _dispatch.call(self._handle, args, kwargs, self)

    def __str__(self):
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self):
        return f"<OpOverload(op='{self._overloadpacket}', overload='{self._overloadname}')>"

    # One object an overload: copies are the object itself.
    def __copy__(self):
        return self

    def __deepcopy__(self, memo=None):
        return self

    def __reduce__(self):
        return _overload_of, (self._overloadpacket._dispatch_name, self._schema.overload_name)


class OpOverloadPacket:
    """All overloads of one operator; a call goes to the first that takes the arguments."""

    def __init__(self, namespace, name, found):
        self.__name__ = name
        self.__module__ = f"taeda._ops.{namespace}"
        self._namespace = namespace
        self._qualified_op_name = f"{namespace}::{name}"
        self._dispatch_name = _dispatch_name(namespace, name)
        self._handles = {overload or "default": handle for overload, handle in found}

    def overloads(self):
        """The names of the overloads."""
        return list(self._handles)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(f"'OpOverloadPacket' object has no attribute '{name}'")
        if name not in self._handles:
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")
        overload = OpOverload(self, name, self._handles[name])
        self.__dict__[name] = overload
        return overload

    def __dir__(self):
        return sorted({*super().__dir__(), *self._handles})

    def __iter__(self):
        return iter(self._handles)

    def __call__(self, /, *args, **kwargs):
        handles = tuple(self._handles.values())
        if len(handles) == 1:
            return _dispatch.call(handles[0], args, kwargs, self)
        return _dispatch.call_first(handles, args, kwargs, self)

    def __str__(self):
        return f"{self._namespace}.{self.__name__}"

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self}')>"

    def __copy__(self):
        return self

    def __deepcopy__(self, memo=None):
        return self

    def __reduce__(self):
        return _packet_of, (self._namespace, self.__name__)


class _OpNamespace(types.ModuleType):
    """The operators of one namespace, found when first asked for."""

    def __init__(self, name):
        super().__init__(f"taeda.ops.{name}")
        self.__file__ = "taeda.ops"
        self.__dict__["_name"] = name

    @property
    def _dir(self):
        """The names of the operators found so far."""
        return [name for name, op in vars(self).items() if isinstance(op, OpOverloadPacket)]

    def __iter__(self):
        return iter(self._dir)

    def __getattr__(self, name):
        found = _find(self._name, name)
        if not found:
            raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'")
        packet = OpOverloadPacket(self._name, name, found)
        setattr(self, name, packet)
        return packet


class _HigherOrderNamespace(types.ModuleType):
    """The operators that take functions; the library's own are loaded when first asked for."""

    def __init__(self):
        super().__init__("taeda.ops.higher_order")
        self.__file__ = "taeda.ops"

    def __getattr__(self, name):
        from taeda._higher_order_operator import _higher_order_ops

        if name not in _higher_order_ops:
            importlib.import_module("taeda.fx.control_flow")
        if name not in _higher_order_ops:
            raise AttributeError(f"'_HigherOrderNamespace' object has no attribute '{name}'")
        return _higher_order_ops[name]


class _Ops(types.ModuleType):
    """The namespaces."""

    __file__ = "_ops.py"

    def __init__(self):
        super().__init__("taeda.ops")
        self.__dict__["loaded_libraries"] = set()

    def load_library(self, path):
        """Loads a shared object whose operators register themselves (TORCH_LIBRARY)."""
        import ctypes
        import os

        path = os.path.realpath(path)
        ctypes.CDLL(path)
        problems = _dispatch.take_library_errors()
        if problems:
            raise RuntimeError(f"{path}: {problems}")
        self.loaded_libraries.add(path)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(f"module 'taeda.ops' has no attribute '{name}'")
        namespace = _HigherOrderNamespace() if name == "higher_order" else _OpNamespace(name)
        setattr(self, name, namespace)
        return namespace


def _dispatch_name(namespace, name):
    """The dispatcher's name: that of the core namespace is left out."""
    return name if namespace == "aten" else f"{namespace}::{name}"


def _find(namespace, name):
    return _dispatch.find_overloads(_dispatch_name(namespace, name))


def all_overloads():
    """The overloads of all operators, those defined at run time too."""
    for full_name in _dispatch.list_operators():
        namespace, _, rest = full_name.rpartition("::")
        name, _, overload = rest.partition(".")
        packet = getattr(getattr(ops, namespace or "aten"), name)
        yield getattr(packet, overload or "default")


def all_schemas():
    """The schemas of all operators."""
    return [overload._schema for overload in all_overloads()]


def _refresh_packet(namespace, name):
    """Updates the cached overloads of an operator after a definition or a removal."""
    in_namespace = ops.__dict__.get(namespace)
    packet = in_namespace.__dict__.get(name) if in_namespace is not None else None
    if packet is None:
        return
    packet._handles = {overload or "default": handle for overload, handle in _find(namespace, name)}
    for overload in [k for k, v in packet.__dict__.items() if isinstance(v, OpOverload)]:
        if overload not in packet._handles:
            delattr(packet, overload)
    if not packet._handles:
        delattr(in_namespace, name)


def _packet_of(namespace, name):
    return getattr(getattr(ops, namespace), name)


def _overload_of(dispatch_name, overload_name):
    """The OpOverload of an operator of the dispatcher."""
    namespace, _, name = dispatch_name.rpartition("::")
    return getattr(_packet_of(namespace or "aten", name), overload_name or "default")


def __getattr__(name):
    if name == "HigherOrderOperator":
        from taeda._higher_order_operator import HigherOrderOperator

        return HigherOrderOperator
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


ops = _Ops()
