"""Library: definitions and kernels that live as long as the object that made them."""

import sys
import weakref

from taeda._C import _dispatch
from taeda._ops import OpOverload, OpOverloadPacket, _refresh_packet, _tag_bits
from taeda.library.fake_context import make_fake_kernel
from taeda.library.keys import DispatchKeySet, ExcludeDispatchKeys, key_of_device, keys_below
from taeda.library.qualified_names import get_overload

_RESERVED = ("prim",)

# "namespace/operator/key" of each kernel that a library registered and did not take back.
_impls = set()


def fallthrough_kernel():
    """Registered for a key, lets calls pass on to the next one."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class Library:
    """Definitions of operators and kernels; gone with the object that made them.

    `kind` is "DEF" (the one definition of a namespace), "FRAGMENT" (more of it) or "IMPL" (kernels
    only); `dispatch_key` is what `impl` registers for unless it is told.
    """

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in _RESERVED:
            raise ValueError(
                f"{ns} is a reserved namespace. Please try creating a library with another name."
            )
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key
        self._op_defs = set()
        self._op_impls = set()
        self._overrides = []  # undoes registrations that the dispatcher does not know of
        where = f"registered at {_caller()}"
        self._handle = _dispatch.open_library(ns, kind, where)
        self._finalizer = weakref.finalize(
            self,
            _close,
            self._handle,
            ns,
            self._op_defs,
            self._op_impls,
            _impls,
            self._overrides,
        )
        self._finalizer.atexit = False

    def __repr__(self):
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})"

    def define(self, schema, alias_analysis="", *, tags=()):
        """Defines `name(Type argument, ...) -> Type` in this namespace; returns the name."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        _dispatch.define(self._handle, schema, _tag_bits(tags))
        name = schema.partition("(")[0].strip().rpartition("::")[2]
        self._op_defs.add(name)
        _refresh_packet(self.ns, name.partition(".")[0])
        return name

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=True):
        """Registers `fn` as the kernel of an operator for a dispatch key.

        Without any key it serves every device and is differentiated through. A kernel registered
        `with_keyset` gets the DispatchKeySet first.
        """
        if not callable(fn):
            raise TypeError(
                f"Input function is required to be a callable but found type {type(fn)}"
            )
        name = self._name_of(op_name)
        if self.dispatch_key and dispatch_key not in ("", self.dispatch_key):
            raise RuntimeError(
                f'impl("{self.ns}::{name}", ...): Explicitly provided dispatch key '
                f"({dispatch_key}) is inconsistent with the dispatch key of the enclosing Library "
                f"({self.dispatch_key})"
            )
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        if f"{self.ns}/{name}/{key}" in _impls and not allow_override:
            raise RuntimeError(
                f"This is not allowed since there's already a kernel registered from python "
                f"overriding {name}'s behavior for {key} dispatch key and {self.ns} namespace."
            )
        self._impl(name, key, fn, "keys" if with_keyset else "")

    def _impl(self, name, key, fn, flags):
        """Registers by the flags of the bindings; a string names a kernel of theirs."""
        _dispatch.impl(
            self._handle, name, key, "fallthrough" if fn is fallthrough_kernel else fn, flags
        )
        entry = f"{self.ns}/{name}/{key}"
        self._op_impls.add(entry)
        _impls.add(entry)

    def fallback(self, fn, dispatch_key="", *, with_keyset=False):
        """Registers `fn(op, *args, **kwargs)` for every operator without a kernel at the key."""
        key = dispatch_key or self.dispatch_key
        if self.ns != "_":
            raise RuntimeError(
                'Fallback can only be registered using library fragment on the global namespace "_"'
                f" but it is {self.ns}"
            )
        if not key:
            raise AssertionError("dispatch_key must not be empty for fallback")
        if not callable(fn):
            raise TypeError(
                f"Input function is required to be a callable but found type {type(fn)}"
            )
        if fn is fallthrough_kernel:
            _dispatch.fallback(self._handle, key, "fallthrough", "")
        else:
            _dispatch.fallback(
                self._handle, key, fn, "operator keys" if with_keyset else "operator"
            )

    def _name_of(self, op_name):
        if isinstance(op_name, OpOverload):
            op_name = op_name.name()
        elif isinstance(op_name, OpOverloadPacket):
            op_name = op_name._qualified_op_name
        if not isinstance(op_name, str):
            raise RuntimeError(
                f"impl should be passed either a name or an OpOverload object as the first "
                f"argument, got {type(op_name)}"
            )
        namespace, separator, name = op_name.rpartition("::")
        if separator and namespace != self.ns:
            raise RuntimeError(
                f'impl("{op_name}", ...): Explicitly provided namespace ({namespace}) in operator '
                "name does not match namespace of enclosing TORCH_LIBRARY block "
                f"({self.ns}).  Register it through a library of that namespace."
            )
        return name

    def _set_batch_rule(self, op, rule):
        _dispatch.set_batch_rule(op._handle, rule)
        self._overrides.append(lambda: _dispatch.set_batch_rule(op._handle, None))

    def _register_fake(self, op_name, fn, _stacklevel=1, *, allow_override=True):
        name = self._name_of(op_name)
        qualname = f"{self.ns}::{name}"
        self._impl(name, "Meta", make_fake_kernel(fn, qualname, repr(fn)), "")

    def _register_torch_dispatch_rule(self, op_name, torch_dispatch_class, fn):
        op = get_overload(f"{self.ns}::{self._name_of(op_name)}")
        if op._dispatch_rules is None:
            op._dispatch_rules = {}
        if torch_dispatch_class in op._dispatch_rules:
            raise RuntimeError(
                f"{torch_dispatch_class} already has a `__torch_dispatch__` rule registered for "
                f"{op.name()}"
            )
        op._dispatch_rules[torch_dispatch_class] = fn
        self._overrides.append(lambda: op._dispatch_rules.pop(torch_dispatch_class, None))

    def _register_autocast(self, op, device_type, cast_inputs):
        from taeda import Tensor, float64

        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")

        def cast(value):
            if isinstance(value, (list, tuple)):
                return [cast(v) for v in value]
            is_cast = (
                isinstance(value, Tensor)
                and value.is_floating_point()
                and value.device.type == device_type
                and value.dtype != float64
            )
            return value.to(cast_inputs) if is_cast else value

        def kernel(keys, *args, **kwargs):
            with ExcludeDispatchKeys(DispatchKeySet("Autocast")):
                args = tuple(cast(a) for a in args)
                kwargs = {name: cast(a) for name, a in kwargs.items()}
                return op.redispatch(keys & keys_below("Autocast"), *args, **kwargs)

        key = f"Autocast{key_of_device(device_type)}"
        self._impl(self._name_of(op), key, kernel, "keys")

    def _destroy(self):
        """Takes back everything registered through this object."""
        self._finalizer()


def _close(handle, ns, op_defs, op_impls, impls, overrides):
    _dispatch.close_library(handle)
    impls.difference_update(op_impls)
    for undo in overrides:
        undo()
    for name in op_defs:
        _refresh_packet(ns, name.partition(".")[0])
    op_defs.clear()
    overrides.clear()


def _caller():
    """The file and line outside this package's files that a registration comes from."""
    frame = sys._getframe(1)
    own = __file__.rpartition("/")[0] + "/"
    while frame.f_back is not None and frame.f_code.co_filename.startswith(own):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
