"""Replaces functions while programs are traced, and puts them back.

Traces run in several threads at once: a name stays replaced until the last trace that replaced it
ends. So what is put there must serve all of them: it records where it sees a proxy, or asks for the
trace of its thread.
"""

import builtins
import threading
from functools import wraps

from taeda.fx._wrapped_functions import _wrapped_fns_to_patch, _wrapped_methods_to_patch
from taeda.fx.node import map_aggregate
from taeda.fx.proxy import Proxy

__all__ = ["Patcher", "find_proxy", "original", "wrapped"]

_MISSING = object()
_lock = threading.Lock()
# (id of a class or of a module's globals, name) -> what stands there for the traces that run.
_replaced = {}


class _Replacement:
    """A name that means something else for a while."""

    def __init__(self, holder, name, new):
        self.holder, self.name, self.users = holder, name, 0
        members = holder if isinstance(holder, dict) else vars(holder)
        self._before = members.get(name, _MISSING)
        self._put(new)

    def _put(self, value):
        if isinstance(self.holder, dict):
            self.holder[self.name] = value
        else:
            setattr(self.holder, self.name, value)

    def restore(self):
        if self._before is not _MISSING:
            self._put(self._before)
        elif isinstance(self.holder, dict):
            del self.holder[self.name]
        else:
            delattr(self.holder, self.name)


class Patcher:
    """The names that one trace gave another meaning; the context's end takes it back."""

    def __init__(self):
        self._keys = []
        self._visited = set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with _lock:
            for key in reversed(self._keys):
                replacement = _replaced[key]
                replacement.users -= 1
                if replacement.users == 0:
                    del _replaced[key]
                    replacement.restore()
        self._keys.clear()
        self._visited.clear()

    def patch(self, holder, name, new):
        """A global name, of the globals given as a dict, or a method of a class."""
        key = (id(holder), name)
        with _lock:
            if key not in _replaced:
                _replaced[key] = _Replacement(holder, name, new)
            _replaced[key].users += 1
        self._keys.append(key)

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
    # Generated functions that go take their marks along, whenever the collector runs.
    for (_, name), frame_dict in list(_wrapped_fns_to_patch.items()):
        function = frame_dict.get(name, getattr(builtins, name, None))
        if function is None:
            raise NameError(f"torch.fx.wrap('{name}'): the module has no such function")
        patcher.patch(frame_dict, name, wrapped(original(function)))
    for cls, name in _wrapped_methods_to_patch:
        patcher.patch(cls, name, _wrapped_method(cls, name))


def patch_autowrapped(patcher, frame_dict, function_ids):
    """Makes the functions with these ids among the globals record themselves."""
    if not function_ids or not patcher.visit_once(frame_dict):
        return
    for name, value in list(frame_dict.items()):
        function = original(value)
        if id(function) in function_ids and name[:1] != "_" and callable(function):
            patcher.patch(frame_dict, name, wrapped(function))


def original(value):
    """The function behind one that records itself."""
    is_recording = getattr(value, "__fx_already_patched", False) is True
    return value.__wrapped__ if is_recording else value
