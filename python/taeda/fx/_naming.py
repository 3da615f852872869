"""Names under which generated code refers to functions and types."""

import builtins
import inspect
import keyword
import re
import sys
import types

import taeda
from taeda._own_names import own_module


def qualified_name(func):
    """The dotted name by which `func` can be reached: `taeda.relu`, `operator.add`, `getattr`."""
    name = getattr(func, "__name__", None)
    if not isinstance(name, str):
        # An object that can be called: by its class.
        return f"{type(func).__module__}.{type(func).__name__}"
    if getattr(builtins, name, None) is func:
        return name
    is_slot = isinstance(func, (types.MethodDescriptorType, types.WrapperDescriptorType))
    if is_slot and getattr(taeda.Tensor, name, None) is func:
        return f"taeda.Tensor.{name}"
    if name == "<lambda>":
        name = _name_of_lambda(func)
    module = _module_of(func, name)
    if module.startswith("taeda._ops."):
        return f"taeda.ops.{module[len('taeda._ops.') :]}.{name}"
    if module.startswith("taeda.") and (_is_private(module) or module not in sys.modules):
        # Where a public function is written is nobody's business.
        module = _public_module_of(func, name) or module
    return f"{module}.{name}"


_PUBLIC_MODULES = ("taeda", "taeda.nn.functional", "taeda.fx.experimental.symbolic_shapes")


def _is_private(module):
    """Whether users know what the module holds by another path."""
    is_home = module.startswith("taeda.fx.symbolic.")
    return is_home or module.rpartition(".")[2].startswith("_")


def _public_module_of(func, name):
    for module in _PUBLIC_MODULES:
        if getattr(sys.modules.get(module), name, None) is func:
            return module
    return None


def _module_of(func, name):
    module = func.__module__ or _public_module_of(func, name)
    if module is not None:
        return module
    raise RuntimeError(f"cannot find module for {func}")


def _name_of_lambda(func):
    try:
        return inspect.getsource(func).split("=")[0].strip()
    except OSError as error:
        raise RuntimeError("Unable to represent lambda") from error


def type_repr(obj):
    """A type as annotations write it."""
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        if obj.__module__ == "builtins":
            return obj.__qualname__
        return f"{own_module(obj)}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    return repr(obj)


_NOT_IN_NAMES = re.compile(r"[^0-9a-zA-Z_]+")
_NUMBERED = re.compile(r"(.*)_(\d+)")


def is_reserved(name, obj=None):
    """Whether Python means something else by the name."""
    if keyword.iskeyword(name):
        return True
    return name in builtins.__dict__ and builtins.__dict__[name] is not obj


class _Namespace:
    """Hands out names, each once; an object that has one keeps it."""

    def __init__(self):
        self._names = {}
        self._used = set()
        self._counts = {}

    def reserve(self, name, obj):
        """Lets the name mean `obj`."""
        self._used.add(name)
        self._names.setdefault(id(obj), (name, obj))

    def create_name(self, candidate, obj):
        """A valid name like `candidate` that nothing else has."""
        if obj is not None and id(obj) in self._names:
            return self._names[id(obj)][0]
        name = _NOT_IN_NAMES.sub("_", candidate) or "_unnamed"
        if name[0].isdigit():
            name = f"_{name}"
        numbered = _NUMBERED.fullmatch(name)
        base = numbered[1] if numbered else name
        while name in self._used or is_reserved(name, obj):
            self._counts[base] = self._counts.get(base, 0) + 1
            name = f"{base}_{self._counts[base]}"
        self._used.add(name)
        if obj is not None:
            self._names[id(obj)] = (name, obj)
        return name
