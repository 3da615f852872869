"""Which functions look for overrides, found by looking at the namespaces rather than by a list.

A function written in Python takes part when its code hands over with `handle_torch_function` or
`_handle_call`. One written in C++ takes part when its documentation opens with its signature, as
that of all generated operators does, and the signature has a tensor, or when it belongs to Tensor.
"""

import functools
import types

import taeda
from taeda import _C

# Parts of Tensor that make or hold objects instead of working on values.
_NOT_METHODS = {
    "__array_priority__",
    "__buffer__",
    "__class__",
    "__copy__",
    "__delattr__",
    "__delitem__",
    "__dict__",
    "__dir__",
    "__doc__",
    "__getattribute__",
    "__getstate__",
    "__hash__",
    "__init__",
    "__init_subclass__",
    "__iter__",
    "__module__",
    "__new__",
    "__reduce__",
    "__release_buffer__",
    "__setattr__",
    "__sizeof__",
    "__str__",
    "__subclasshook__",
    "__torch_dispatch__",
    "__torch_function__",
    "_make_subclass",
    "_make_wrapper_subclass",
    "_swap_impl",
    "_use_count",
    "as_subclass",
}

_HANDING_OVER = {"handle_torch_function", "_handle_call"}


def _hands_over(function):
    return not _HANDING_OVER.isdisjoint(function.__code__.co_names)


def _is_overridable(name, value):
    if isinstance(value, types.FunctionType):
        return _hands_over(value)
    if isinstance(value, types.BuiltinFunctionType):
        doc = value.__doc__ or ""
        return doc.startswith(f"{name}(") and _takes_a_tensor(doc)
    return False


def _takes_a_tensor(doc):
    """Factories of sizes and data do not: only modes see them."""
    signatures = doc.partition("\n\n")[0].split("\n")
    return any("Tensor" in signature.rpartition(" ->")[0] for signature in signatures)


def _namespaces():
    """Modules with the names that PyTorch gives them."""
    from importlib import import_module

    yield "torch", taeda
    for name in ("functional", "nn.functional", "linalg"):
        yield f"torch.{name}", import_module(f"taeda.{name}")


def _public(module):
    for name in dir(module):
        if not name.startswith("_"):
            yield name, getattr(module, name)


@functools.cache
def _tensor_functions():
    """Methods of Tensor, and the accessors of its attributes, with their names."""
    out = {}
    for name, value in vars(_C.Tensor).items():
        if name in _NOT_METHODS:
            continue
        if isinstance(value, types.GetSetDescriptorType):
            out[value.__get__] = f"torch.Tensor.{name}.__get__"
        elif callable(value):
            out[getattr(_C.Tensor, name)] = f"torch.Tensor.{name}"
    return out


def tensor_methods():
    return {f for f in _tensor_functions() if f.__name__ != "__get__"}


@functools.cache
def public_names():
    names = dict(_tensor_functions())
    for name, value in vars(_C.Tensor).items():
        if isinstance(value, types.GetSetDescriptorType) and name not in _NOT_METHODS:
            names[value.__set__] = f"torch.Tensor.{name}.__set__"
    for prefix, module in _namespaces():
        for name, value in _public(module):
            if _is_overridable(name, value):
                names.setdefault(value, f"{prefix}.{name}")
    return names


@functools.cache
def overridable_functions():
    out = {}
    for _, module in _namespaces():
        out[module] = [value for name, value in _public(module) if _is_overridable(name, value)]
    out[_C.Tensor] = sorted(tensor_methods(), key=lambda f: f.__name__)
    for f in _tensor_functions():
        if f.__name__ == "__get__":
            out[f.__self__] = [f]
    return out


@functools.cache
def ignored_functions():
    out = {getattr(_C.Tensor, name) for name in _NOT_METHODS if _is_function_of_tensor(name)}
    for _, module in _namespaces():
        for name, value in _public(module):
            if callable(value) and not isinstance(value, type) and not _is_overridable(name, value):
                out.add(value)
    return out


def _is_function_of_tensor(name):
    value = getattr(_C.Tensor, name, None)
    return callable(value) and getattr(value, "__hash__", None) is not None


def _signature(f):
    """Of a generated function, that of its first overload."""
    import inspect
    import keyword

    try:
        return inspect.signature(f)
    except (TypeError, ValueError):
        pass
    kinds = inspect.Parameter
    if f.__name__ == "__get__":
        return inspect.Signature([kinds("self", kinds.POSITIONAL_OR_KEYWORD)])
    doc = (f.__doc__ or "").partition("\n")[0]
    if not doc.startswith(f"{f.__name__}("):
        return inspect.Signature(
            [kinds("args", kinds.VAR_POSITIONAL), kinds("kwargs", kinds.VAR_KEYWORD)]
        )
    parameters, kind = [], kinds.POSITIONAL_OR_KEYWORD
    for part in _split(doc[len(f.__name__) + 1 : doc.rindex(") ->")]):
        if part == "*":
            kind = kinds.KEYWORD_ONLY
            continue
        declared, _, default = part.partition("=")
        name = declared.split()[-1]
        name = "input" if name == "self" and isinstance(f, types.BuiltinFunctionType) else name
        name += "_" if keyword.iskeyword(name) else ""
        parameters.append(kinds(name, kind, default=default or kinds.empty))
    is_method = not isinstance(f, types.BuiltinFunctionType)
    if is_method and all(parameter.name != "self" for parameter in parameters):
        # Texts of hand-written methods begin with the arguments that the caller gives.
        parameters.insert(0, kinds("self", kinds.POSITIONAL_OR_KEYWORD))
    return inspect.Signature(parameters)


def _split(text):
    """The parts between commas that stand outside brackets."""
    part, depth = "", 0
    for c in text:
        depth += (c in "[(") - (c in "])")
        if c == "," and depth == 0:
            yield part.strip()
            part = ""
        else:
            part += c
    if part.strip():
        yield part.strip()


def _stand_in(f):
    def override(*args, **kwargs):
        return -1

    override.__name__ = f.__name__
    override.__signature__ = _signature(f)
    return override


@functools.cache
def testing_overrides():
    return {f: _stand_in(f) for functions in overridable_functions().values() for f in functions}
