"""Replaces functions while a program is traced, and puts them back."""

import builtins

from taeda.fx._wrapped_functions import _wrapped_fns_to_patch, _wrapped_methods_to_patch
from taeda.fx.node import map_aggregate
from taeda.fx.proxy import Proxy

__all__ = ["Patcher", "find_proxy", "wrapped"]

_MISSING = object()


class Patcher:
    """Names that were given another meaning; the context's end gives them their own again."""

    def __init__(self):
        self._undo = []
        self._visited = set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for restore in reversed(self._undo):
            restore()
        self._undo.clear()
        self._visited.clear()

    def patch(self, frame_dict, name, new):
        """A global name."""
        before = frame_dict.get(name, _MISSING)
        frame_dict[name] = new

        def restore():
            if before is _MISSING:
                del frame_dict[name]
            else:
                frame_dict[name] = before

        self._undo.append(restore)

    def patch_method(self, cls, name, new):
        """A method that the class or one of its bases defines."""
        before = cls.__dict__.get(name, _MISSING)
        setattr(cls, name, new)

        def restore():
            if before is _MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, before)

        self._undo.append(restore)

    def visit_once(self, frame_dict):
        """True the first time that these globals are seen."""
        if id(frame_dict) in self._visited:
            return False
        self._visited.add(id(frame_dict))
        return True


def find_proxy(args, kwargs):
    """A proxy among the arguments, in containers too; None if there is none."""
    for value in args:
        if isinstance(value, Proxy):
            return value
    found = []

    def look(value):
        if isinstance(value, Proxy):
            found.append(value)

    map_aggregate((args, kwargs), look)
    return found[0] if found else None


def wrapped(function):
    """The function, which records itself where an argument is a proxy."""
    from functools import wraps

    @wraps(function)
    def recording(*args, **kwargs):
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        result = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        result.node.meta["is_wrapped"] = True
        return result

    recording.__fx_already_patched = True
    return recording


def _wrapped_method(cls, name):
    method = getattr(cls, name)

    def recording(*args, **kwargs):
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return method(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return recording


def patch_wrapped(patcher):
    """Makes everything that `wrap` marked record itself."""
    for (_, name), frame_dict in _wrapped_fns_to_patch.items():
        function = frame_dict.get(name, getattr(builtins, name, None))
        if function is None:
            raise NameError(f"torch.fx.wrap('{name}'): the module has no such function")
        if not hasattr(function, "__fx_already_patched"):
            patcher.patch(frame_dict, name, wrapped(function))
    for cls, name in _wrapped_methods_to_patch:
        patcher.patch_method(cls, name, _wrapped_method(cls, name))


def patch_autowrapped(patcher, frame_dict, function_ids):
    """Makes the functions with these ids among the globals record themselves."""
    if not function_ids or not patcher.visit_once(frame_dict):
        return
    found = [(n, v) for n, v in frame_dict.items() if id(v) in function_ids and n[:1] != "_"]
    for name, value in found:
        if callable(value) and not hasattr(value, "__fx_already_patched"):
            patcher.patch(frame_dict, name, wrapped(value))
